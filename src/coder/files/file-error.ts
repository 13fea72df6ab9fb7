/** Errors of reading and writing files, with messages that tell a model what to do. */
import { systemCode } from '../../base/index.ts';
export type FileErrorCode =
  | 'outside'
  | 'protected'
  | 'bad-path'
  | 'not-found'
  | 'exists'
  /**
   * A folder instead of a file, a file instead of a folder, or something else, such as a device, a pipe or a socket.
   */
  | 'wrong-kind'
  | 'too-large'
  | 'binary'
  /** The file has changed since it was read. */
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
  ENOTDIR: ['wrong-kind', 'is inside something that is not a folder'],
  EISDIR: ['wrong-kind', 'is a folder'],
  ELOOP: ['outside', 'is a symbolic link that is broken or circular'],
  EEXIST: ['exists', 'already exists'],
  EACCES: ['failed', 'cannot be accessed: permission denied'],
  EPERM: ['failed', 'cannot be accessed: operation not permitted'],
  EROFS: ['failed', 'is on a read-only file system'],
  ENOSPC: ['failed', 'cannot be written: no space left on the device'],
  EDQUOT: ['failed', 'cannot be written: disk quota exceeded'],
  ENAMETOOLONG: ['bad-path', 'has a name that is too long for the file system'],
  EMFILE: ['failed', 'cannot be opened: too many files are open; try again'],
  ENFILE: ['failed', 'cannot be opened: too many files are open; try again'],
};

/**
 * Converts a system error about the file `shown` to a FileError. The system's message is not used, because it would
 * contain internal paths.
 */
export function toFileError(error: unknown, shown: string): FileError {
  if (error instanceof FileError) return error;
  const code = systemCode(error);
  const [kind, words] = (code === undefined ? undefined : REASONS[code]) ?? [
    'failed',
    `cannot be accessed${code === undefined ? '' : ` (${code})`}`,
  ];
  return new FileError(kind, `${shown} ${words}`, error);
}
