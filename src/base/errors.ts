/** Helpers for errors of unknown origin. */

/** Returns the error's message in one line, or its name if it has no message. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/** Returns the code of a failed system call, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}
