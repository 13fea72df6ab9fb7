/** The curve of a budget: what was spent by the end of each day of its period. */
import type { ShownBudgetStatus, UsageItem } from './api.ts';
import { daysBetween, measuredIn, type Measure } from './usage-data.ts';

const DAY_MS = 86_400_000;
/** Number of days that are shown of a budget without a period. */
const DAYS_OF_TOTAL = 90;

export interface BudgetLine {
  readonly measure: Measure;
  readonly unit: string;
  readonly spent: number;
  readonly reserved: number;
  readonly limit: number;
}

/** Returns the limits of a budget: in tokens, in money, or both. */
export function linesOf({ budget, spent, reserved }: ShownBudgetStatus): BudgetLine[] {
  const { tokens, amount, currency = '' } = budget;
  return [
    ...(tokens === undefined
      ? []
      : [
          {
            measure: 'tokens',
            unit: 'tokens',
            spent: spent.tokens,
            reserved: reserved.tokens,
            limit: tokens,
          },
        ]),
    ...(amount === undefined
      ? []
      : [
          {
            measure: `cost ${currency}`,
            unit: currency,
            spent: spent.amount,
            reserved: reserved.amount,
            limit: amount,
          },
        ]),
  ];
}

/** Returns the days of the current period, until its end. A budget in total has the last days until today. */
export function daysOf({ startsOn, resetsAt }: ShownBudgetStatus, now: number): string[] {
  if (startsOn !== undefined && resetsAt !== undefined) {
    return daysBetween(startsOn, dayOf(Date.parse(resetsAt) - 1));
  }
  return daysBetween(dayOf(now - (DAYS_OF_TOTAL - 1) * DAY_MS), dayOf(now));
}

/**
 * Returns what was spent by the end of each day until today. The last value is what the server says is spent. For a
 * budget in total, the first value contains all earlier usage.
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
  const today = dayOf(now);
  const until = days.filter((day) => day <= today);
  const inDays = until.reduce((sum, day) => sum + (byDay.get(day) ?? 0), 0);
  let sum = Math.max(0, line.spent - inDays);
  return days.map((day) => (day > today ? null : (sum += byDay.get(day) ?? 0)));
}

/** Returns the part of the period that has passed, or undefined if the budget has no period. */
export function passedPart(
  { startsOn, resetsAt }: Pick<ShownBudgetStatus, 'startsOn' | 'resetsAt'>,
  now: number,
): number | undefined {
  if (startsOn === undefined || resetsAt === undefined) return undefined;
  const [start, end] = [Date.parse(startsOn), Date.parse(resetsAt)];
  return Math.min(1, Math.max(0, (now - start) / (end - start)));
}

/** Returns the day on which the budget is used up if spending continues as before, if this is before the period ends. */
export function usedUpOn(
  { startsOn, resetsAt }: Pick<ShownBudgetStatus, 'startsOn' | 'resetsAt'>,
  { spent, limit }: Pick<BudgetLine, 'spent' | 'limit'>,
  now: number,
): string | undefined {
  if (startsOn === undefined || resetsAt === undefined || spent <= 0 || spent >= limit) {
    return undefined;
  }
  const start = Date.parse(startsOn);
  const at = start + ((now - start) * limit) / spent;
  return at < Date.parse(resetsAt) ? dayOf(at) : undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
