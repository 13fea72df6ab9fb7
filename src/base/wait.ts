/** Waiting: with an abort signal, with a timeout, and with a growing delay between attempts. */

export type MaybePromise<T> = T | Promise<T>;

/** The longest delay that a timer accepts. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Resolves or rejects as `value` does, or rejects with the signal's reason as soon as the signal is aborted. Works also
 * when the producer of `value` ignores the signal.
 */
export function raceAbort<T>(value: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // Handles a late rejection of `value` too, so that it is never reported as unhandled.
    void Promise.resolve(value)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal is aborted first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await (signal ? raceAbort(elapsed, signal) : elapsed);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when `work` does or after `ms` milliseconds, whichever is first. Rejects if `work` rejects in time. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await Promise.race([work, elapsed]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Exponential backoff with jitter: the delay after the given number of attempts. It doubles with each attempt up to
 * `maxMs`, then is reduced by up to half at random. `random: () => 1` turns the jitter off.
 *
 *     await pause(backoffMs(attempt, 500, 15_000), signal);
 */
export function backoffMs(
  attempt: number,
  firstMs: number,
  maxMs: number,
  random: () => number = Math.random,
): number {
  return Math.min(maxMs, firstMs * 2 ** (attempt - 1)) * (0.5 + random() / 2);
}
