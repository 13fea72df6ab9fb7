/** The reason why a store cannot be used. */
export type StoreErrorCode =
  /** Another process or transaction has locked the data for too long. The same call may succeed later. */
  | 'busy'
  /**
   * The database cannot be used now. For example, its server cannot be reached, did not answer in time, or has no free
   * connection. The same call may succeed later.
   */
  | 'unavailable'
  /** The disk is full, the file has reached its maximum size, or the database server has no memory left. */
  | 'full'
  /** The file or database is damaged. */
  | 'corrupt'
  /**
   * Any other reason. For example, the file or database cannot be opened, is not a database of this program, was
   * closed, or refused a statement.
   */
  | 'unusable';

/** The error for a store that cannot be used. The message is one line. `hint`, if it is set, explains what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  readonly hint: string | undefined;

  constructor(
    message: string,
    options: { code?: StoreErrorCode; hint?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = options.code ?? 'unusable';
    this.hint = options.hint;
  }
}
