/** The time in the protocol's format: UTC with milliseconds and a Z. The text is cached for the current millisecond. */
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
