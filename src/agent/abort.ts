/** Waiting that an abort ends at once, whether or not what is waited for minds the signal. */

/** The value, or the signal's reason as soon as it is aborted. */
export function raceAbort<T>(value: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    void Promise.resolve(value)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', leave));
  });
}

/**
 * The same items. Has one listener for the whole iteration, not one for each item: the reactions of a race with a
 * promise that never settles would be kept as long as that promise.
 */
export async function* abortable<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  let fail: ((reason: unknown) => void) | undefined;
  const leave = (): void => fail?.(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    for (;;) {
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        fail = reject;
        if (signal.aborted) leave();
        else iterator.next().then(resolve, reject);
      });
      if (step.done === true) {
        ended = true;
        return;
      }
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', leave);
    // Not waited for: a generator that is waiting itself returns only after its next item.
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}
