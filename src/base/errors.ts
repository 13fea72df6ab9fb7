/** Functions for errors of unknown origin. */
import { oneLine } from './text.ts';

/** Returns the error's message in one line, or its name if it has no message. Any other value is converted to text. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return oneLine(message);
}

/**
 * Returns the `code` of an error, such as `ENOENT` or `ERR_MODULE_NOT_FOUND`, or undefined if the error has no code
 * that is a string.
 */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

/**
 * Returns the innermost cause, or the error itself if it has no cause. For example, an error of `fetch` says only
 * "fetch failed", and its cause says why.
 */
export function rootCause(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner;
}
