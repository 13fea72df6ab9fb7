/** Makes an iteration abortable. */

/**
 * Yields the items of `source` until the signal is aborted. Then throws the signal's reason, even if `source` ignores
 * the signal. Uses only one listener for the whole iteration. A race for each item would add a listener for each
 * item.
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
    // The result is not awaited, because a generator that is waiting returns only after its next item.
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}
