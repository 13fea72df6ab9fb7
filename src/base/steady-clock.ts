/**
 * Returns a clock in milliseconds that never goes back. If `now` is set back, the clock continues from its last value,
 * so that deadlines are not postponed.
 *
 * `runningTime` is a second clock. Between two calls, `now` and `runningTime` may advance by different amounts. The
 * returned clock advances by the larger amount. So the time between two calls is counted even if `now` was set back in
 * the meantime.
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

/**
 * Returns a clock for expiry times. It keeps running when the system clock is set back, and while the machine sleeps.
 */
export function expiryClock(): () => number {
  return steadyClock(Date.now, () => performance.now());
}
