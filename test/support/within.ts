/** How long a test waits for an event. Less than the runner's limit for a test, so that the error says what is missing. */
export const WAIT_MS = 30_000;

/** Waits for a promise, but not for ever: a test that waits in vain fails, and says for what it waited. */
export async function within<T>(what: string, promise: Promise<T>, ms = WAIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
