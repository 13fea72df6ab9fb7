/** The time as the protocol writes it: UTC with milliseconds and a Z. Events of the same millisecond share the text. */
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
