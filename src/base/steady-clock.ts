/**
 * Returns a clock that does not go back. If `now` is set back, the clock continues from its last value, so that a time in
 * the future is reached after the time that was meant.
 */
export function steadyClock(now: () => number): () => number {
  let last = -Infinity;
  let offset = 0;
  return () => {
    const time = now();
    offset = Math.max(offset, last - time);
    last = time + offset;
    return last;
  };
}
