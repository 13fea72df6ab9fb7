/** Computes the curve of a budget: the amount that was spent by the end of each day of its period. */
import type { ShownBudgetStatus, UsageItem } from './api.ts';
import { utcDay, daysBetween, lastDays, measuredIn, type Measure } from './usage-data.ts';

/** Number of days in the curve of a budget without a period. */
const DAYS_OF_TOTAL = 90;

export interface BudgetLine {
  readonly measure: Measure;
  readonly unit: string;
  readonly spent: number;
  readonly reserved: number;
  readonly limit: number;
}

/** Returns a `BudgetLine` for each limit of a budget: a limit in tokens, a limit in money, or both. */
export function linesOf({ budget, spent, reserved }: ShownBudgetStatus): BudgetLine[] {
  const { currency = '' } = budget;
  const lineOf = (kind: 'tokens' | 'amount', measure: Measure, unit: string): BudgetLine[] => {
    const { [kind]: limit } = budget;
    if (limit === undefined) return [];
    return [{ measure, unit, spent: spent[kind], reserved: reserved[kind], limit }];
  };
  return [
    ...lineOf('tokens', 'tokens', 'tokens'),
    ...lineOf('amount', `cost ${currency}`, currency),
  ];
}

/**
 * Returns the days of the current period, until its end. For a budget without a period, returns the last DAYS_OF_TOTAL
 * days, including today.
 */
export function daysOf({ startsOn, resetsAt }: ShownBudgetStatus, now: number): string[] {
  if (startsOn !== undefined && resetsAt !== undefined) {
    return daysBetween(startsOn, utcDay(Date.parse(resetsAt) - 1));
  }
  const { from, to } = lastDays(DAYS_OF_TOTAL, now);
  return daysBetween(from, to);
}

/**
 * Returns the amount that was spent by the end of each day until today, and null for each later day. The value of today
 * is the spent amount of the budget, or the sum of the rows if the sum is larger. The first value also contains the
 * usage that is not in the rows. For a budget without a period, such usage includes everything before the first day.
 */
export function curveOf(
  line: BudgetLine,
  rows: readonly UsageItem[],
  days: readonly string[],
  now: number,
): (number | null)[] {
  const byDay = new Map<string, number>();
  for (const row of rows) {
    const day = row.day ?? '';
    byDay.set(day, (byDay.get(day) ?? 0) + measuredIn(row, line.measure));
  }
  const today = utcDay(now);
  const until = days.filter((day) => day <= today);
  const inDays = until.reduce((sum, day) => sum + (byDay.get(day) ?? 0), 0);
  let sum = Math.max(0, line.spent - inDays);
  return days.map((day) => (day > today ? null : (sum += byDay.get(day) ?? 0)));
}

type Period = Pick<ShownBudgetStatus, 'startsOn' | 'resetsAt'>;

/** Returns the part of the period that has passed, from 0 to 1, or undefined if the budget has no period. */
export function passedPart({ startsOn, resetsAt }: Period, now: number): number | undefined {
  if (startsOn === undefined || resetsAt === undefined) return undefined;
  const [start, end] = [Date.parse(startsOn), Date.parse(resetsAt)];
  return Math.min(1, Math.max(0, (now - start) / (end - start)));
}

/**
 * Returns the day on which the budget will be used up if spending continues as before. Returns undefined if the period
 * ends first, if there is no period, or if nothing or everything is spent.
 */
export function usedUpOn(
  { startsOn, resetsAt }: Period,
  { spent, limit }: Pick<BudgetLine, 'spent' | 'limit'>,
  now: number,
): string | undefined {
  if (startsOn === undefined || resetsAt === undefined || spent <= 0 || spent >= limit) {
    return undefined;
  }
  const start = Date.parse(startsOn);
  const at = start + ((now - start) * limit) / spent;
  return at < Date.parse(resetsAt) ? utcDay(at) : undefined;
}
