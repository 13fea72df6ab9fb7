/** A store that cannot be used, in one line for the person who runs it. `hint` says what may help. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.hint = options.hint;
  }
}

/** SQLite's result code of a failure, without its extension; undefined if it was not SQLite that failed. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
