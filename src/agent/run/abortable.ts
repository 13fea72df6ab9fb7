/** Iterating with an abort signal. */

/**
 * Yields the items of `source` until the signal is aborted; then throws the signal's reason, even if `source` ignores the
 * signal. One listener serves the whole iteration: a race per item would add a reaction to the signal's promise each time.
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
