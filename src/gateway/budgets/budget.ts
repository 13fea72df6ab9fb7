/** Budgets and their periods. Days and months are in UTC. */
import * as z from 'zod';
import { DAY_MS, integer } from '../api/fields.ts';

const MAX_TOKENS = 1_000_000_000_000;
/** Maximum amount. In billionths of the currency, it is still a safe integer. */
const MAX_AMOUNT = 1_000_000;

export const BUDGET_PERIODS = ['day', 'month', 'total'] as const;

export const budgetFields = {
  tokens: integer(1, MAX_TOKENS)
    .optional()
    .describe('Maximum number of input and output tokens together'),
  amount: z.number().gt(0).max(MAX_AMOUNT).optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'three letters, such as USD')
    .optional(),
};

interface AmountAndCurrency {
  readonly amount?: number | undefined;
  readonly currency?: string | undefined;
}

/** Adds the rule that an amount and a currency must be set together. */
export function withCurrency<Output extends AmountAndCurrency, Input>(
  schema: z.ZodType<Output, Input>,
) {
  return schema.refine(
    ({ amount, currency }) => (amount === undefined) === (currency === undefined),
    { path: ['currency'], message: 'amount and currency must be set together' },
  );
}

export const Budget = withCurrency(
  z
    .strictObject({
      ...budgetFields,
      period: z.enum(BUDGET_PERIODS).describe('Days and months are in UTC'),
    })
    .refine(({ tokens, amount }) => tokens !== undefined || amount !== undefined, {
      path: ['tokens'],
      message: 'a budget must have tokens, an amount, or both',
    }),
);
export type Budget = Readonly<z.infer<typeof Budget>>;

export interface Period {
  readonly name: string;
  /** The days of the period, as texts that sort by time: a day belongs to the period if `from` <= day < `to`. */
  readonly from: string;
  readonly to: string;
  /** The time when the next period begins, or undefined for the period `total`. */
  readonly endsAt?: number;
}

let lastDay = Number.NaN;
let lastDayText = '';

/** Returns the day in UTC, for example `2026-11-15`. The last result is cached. */
export function dayOf(time: number): string {
  const day = Math.floor(time / DAY_MS);
  if (day !== lastDay) {
    lastDayText = new Date(time).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDayText;
}

export function periodAt(kind: Budget['period'], time: number): Period {
  const day = dayOf(time);
  if (kind === 'total') return { name: kind, from: '', to: '~' };
  const date = new Date(time);
  const endsAt =
    kind === 'day'
      ? Date.parse(day) + DAY_MS
      : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  const from = kind === 'day' ? day : day.slice(0, 7);
  return { name: from, from, to: dayOf(endsAt), endsAt };
}
