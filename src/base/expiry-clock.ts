/**
 * Returns a clock in milliseconds for things that expire. It does not go back when the system's clock is set back, and
 * it does not stop while the machine sleeps, as `performance.now` does on some systems.
 */
export function expiryClock(
  systemTime: () => number = Date.now,
  runningTime: () => number = () => performance.now(),
): () => number {
  let last = { system: systemTime(), running: runningTime() };
  let time = 0;
  return () => {
    const now = { system: systemTime(), running: runningTime() };
    time += Math.max(now.system - last.system, now.running - last.running);
    last = now;
    return time;
  };
}
