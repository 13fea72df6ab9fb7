/** The time of the last call, and its text. */
let at = Number.NaN;
let text = '';
/** The last full second, and the start of its text. */
let second = Number.NaN;
let start = '';

/**
 * Formats the current time for the protocol, in UTC with milliseconds. `toISOString` takes longer than all other
 * processing of a status. So the text is cached for the current millisecond, and the start of the text for the current
 * second.
 */
export function timestamp(): string {
  const now = Date.now();
  if (now !== at) {
    at = now;
    text = formatted(now);
  }
  return text;
}

function formatted(now: number): string {
  const milliseconds = now % 1000;
  if (now - milliseconds !== second) {
    second = now - milliseconds;
    start = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `${start}${String(milliseconds).padStart(3, '0')}Z`;
}
