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

/** Waits for the work, but no longer than so. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
