/** Times and durations as people write them. */
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/**
 * Returns a time in the time zone of this machine: `14:03` for today, `yesterday 14:03`, `12 Nov 14:03` for any other
 * day of this year, and `12 Nov 2024` for other years.
 */
export function localTime(at: number, now = Date.now()): string {
  const [then, today] = [new Date(at), new Date(now)];
  const two = (part: number): string => String(part).padStart(2, '0');
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  const daysAgo = Math.round((midnight(today) - midnight(then)) / 86_400_000);
  if (daysAgo === 0) return time;
  if (daysAgo === 1) return `yesterday ${time}`;
  const day = `${then.getDate()} ${MONTHS[then.getMonth()]}`;
  return then.getFullYear() === today.getFullYear()
    ? `${day} ${time}`
    : `${day} ${then.getFullYear()}`;
}

function midnight(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}

/** Returns the duration from `since` to `now`, such as `45s` or `2m 5s`. */
export function timeSince(since: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}
