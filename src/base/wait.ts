/** Functions for waiting: with an abort signal, with a timeout, or with a growing delay between attempts. */

export type MaybePromise<T> = T | Promise<T>;

/**
 * Calls `next` with the value. If `value` is a promise, waits for it. Otherwise, calls `next` at once. So one function
 * can handle both cases, and waits only if necessary.
 */
export function andThen<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Returns the values. If one of them is a promise, returns a promise of all values. */
export function allOf<Value>(
  values: readonly MaybePromise<Value>[],
): MaybePromise<readonly Value[]> {
  const ready: Value[] = [];
  for (const value of values) {
    if (value instanceof Promise) return Promise.all(values);
    ready.push(value);
  }
  return ready;
}

/** Maximum delay of a timer. A timer with a longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for `value`. Rejects with the signal's reason as soon as the signal is aborted, even if the producer of `value`
 * ignores the signal.
 */
export function raceAbort<T>(value: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // This also handles a late rejection of `value`, so that it is never reported as unhandled.
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

/**
 * Resolves after `ms` milliseconds, or as soon as the signal is aborted. Never rejects, and does not keep the process
 * alive.
 */
export function rest(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    // In browsers, a timer is a number.
    if (typeof timer === 'object') timer.unref();
    signal?.addEventListener('abort', end);
  });
}

/** Waits until `work` has ended, but at most `ms` milliseconds. Rejects if `work` rejects within this time. */
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
 * Returns the delay after the given number of attempts (exponential backoff with jitter). The delay doubles with each
 * attempt, up to `maxMs`. Then it is randomly reduced by up to half. `random: () => 1` turns the jitter off.
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

/** A value that is known later. Its promise is created only if it is needed. Only the first `resolve` has an effect. */
export class Later<Value> {
  #known: { readonly value: Value } | undefined;
  #waiting: PromiseWithResolvers<Value> | undefined;

  resolve(value: Value): void {
    if (this.#known) return;
    this.#known = { value };
    this.#waiting?.resolve(value);
  }

  get promise(): Promise<Value> {
    if (this.#known) return Promise.resolve(this.#known.value);
    return (this.#waiting ??= Promise.withResolvers<Value>()).promise;
  }
}
