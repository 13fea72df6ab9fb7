/**
 * Formats the current time for the protocol, in UTC with milliseconds. The text is cached for the current millisecond.
 */
let at = Number.NaN;
let text = '';

export function timestamp(): string {
  const now = Date.now();
  if (now !== at) {
    at = now;
    text = new Date(now).toISOString();
  }
  return text;
}
