/**
 * Returns a clock in milliseconds that does not go back. If `now` is set back, the clock continues from its last value,
 * so that a time in the future is reached after the time that was meant.
 *
 * `runningTime` is a second clock. The time between two calls is the longer one of both clocks, so the time in which
 * `now` is set back is counted, too.
 */
export function steadyClock(now: () => number, runningTime: () => number = () => 0): () => number {
  let last = { time: now(), running: runningTime() };
  let { time } = last;
  return () => {
    const next = { time: now(), running: runningTime() };
    time += Math.max(next.time - last.time, next.running - last.running);
    last = next;
    return time;
  };
}

/** Returns a clock for things that expire. It goes on when the system's clock is set back, and while the machine sleeps. */
export function expiryClock(): () => number {
  return steadyClock(Date.now, () => performance.now());
}
