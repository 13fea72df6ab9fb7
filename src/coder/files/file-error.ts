/** Why a file was not read or written, in words that a model can act on. */
import { systemCode } from '../../base/index.ts';
export type FileErrorCode =
  | 'outside'
  | 'protected'
  | 'bad-path'
  | 'not-found'
  | 'exists'
  /** A folder where a file is wanted, a file where a folder is, or neither: a device, a pipe, a socket. */
  | 'wrong-kind'
  | 'too-large'
  | 'binary'
  /** Not what it was when somebody looked at it. */
  | 'changed'
  | 'no-match'
  | 'bad-patch'
  | 'bad-pattern'
  | 'timeout'
  | 'failed';

export class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: FileErrorCode;

  constructor(code: FileErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, readonly [FileErrorCode, string]>> = {
  ENOENT: ['not-found', 'does not exist'],
  ENOTDIR: ['wrong-kind', 'lies behind something that is no folder'],
  EISDIR: ['wrong-kind', 'is a folder'],
  ELOOP: ['outside', 'is a symbolic link that leads nowhere or in circles'],
  EEXIST: ['exists', 'exists already'],
  EACCES: ['failed', 'may not be accessed: permission denied'],
  EPERM: ['failed', 'may not be accessed: not permitted'],
  EROFS: ['failed', 'lies on a file system that cannot be written to'],
  ENOSPC: ['failed', 'cannot be written: no space is left on the device'],
  EDQUOT: ['failed', 'cannot be written: the disk quota is used up'],
  ENAMETOOLONG: ['bad-path', 'has a name that is too long for the file system'],
  EMFILE: ['failed', 'cannot be opened: too many files are open; try again'],
  ENFILE: ['failed', 'cannot be opened: too many files are open; try again'],
};

/** What the system said about `shown`, as one of ours. The system's own text would show how the file was reached. */
export function toFileError(error: unknown, shown: string): FileError {
  if (error instanceof FileError) return error;
  const code = systemCode(error);
  const [kind, words] = (code === undefined ? undefined : REASONS[code]) ?? [
    'failed',
    `cannot be accessed${code === undefined ? '' : ` (${code})`}`,
  ];
  return new FileError(kind, `${shown} ${words}`, error);
}
