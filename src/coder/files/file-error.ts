/** Errors of reading and writing files, with messages that tell a model what to do. */
import { systemCode } from '../../base/index.ts';
import { ToolError, type ToolErrorType } from '../../agent/index.ts';

/** Maps each code of a FileError to the type of error that models see. */
const TYPES = {
  outside: 'denied',
  protected: 'denied',
  /** The system or the editor does not allow the access. */
  'no-permission': 'denied',
  'bad-path': 'invalid_arguments',
  'not-found': 'not_found',
  exists: 'conflict',
  /**
   * A folder instead of a file, or a file instead of a folder. Also used for devices, pipes, sockets, and symbolic
   * links that lead to themselves.
   */
  'wrong-kind': 'invalid_arguments',
  'too-large': 'too_large',
  binary: 'invalid_arguments',
  /** The file has changed since it was read. */
  changed: 'conflict',
  'no-match': 'conflict',
  'bad-patch': 'invalid_arguments',
  'bad-pattern': 'invalid_arguments',
  timeout: 'timeout',
  failed: 'tool_error',
} as const satisfies Record<string, ToolErrorType>;

export type FileErrorCode = keyof typeof TYPES;

export class FileError extends ToolError {
  override readonly name = 'FileError';
  readonly code: FileErrorCode;

  constructor(code: FileErrorCode, message: string, cause?: unknown) {
    super(TYPES[code], message, { cause });
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, readonly [FileErrorCode, string]>> = {
  ENOENT: ['not-found', 'does not exist'],
  ENOTDIR: ['wrong-kind', 'is inside something that is not a folder'],
  EISDIR: ['wrong-kind', 'is a folder'],
  ELOOP: [
    'wrong-kind',
    'cannot be resolved: it leads through too many symbolic links, or through a link that leads to itself',
  ],
  EEXIST: ['exists', 'already exists'],
  EACCES: ['no-permission', 'cannot be accessed: permission denied'],
  EPERM: ['no-permission', 'cannot be accessed: operation not permitted'],
  EROFS: ['no-permission', 'is on a read-only file system'],
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
