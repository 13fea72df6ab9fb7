/** The state of a budget, in the API and inside the program: how much is spent and reserved. */
import * as z from 'zod';
import { NextOffset } from '../api/fields.ts';
import { Budget } from './budget.ts';

const Numbers = z.object({ tokens: z.int(), amount: z.number() });

export const BudgetStatus = z.object({
  budget: Budget,
  spent: Numbers.describe(
    'The usage in the current period. `amount` is in the currency of the budget',
  ),
  reserved: Numbers.describe('What the calls in progress may use'),
  startsOn: z.iso
    .date()
    .optional()
    .describe('The first day of the current period. Missing if the period is total'),
  resetsAt: z.iso
    .datetime()
    .optional()
    .describe('The time when the next period begins. Missing if the period is total'),
});
export type BudgetStatus = Readonly<z.infer<typeof BudgetStatus>>;

export const BudgetOfHolder = BudgetStatus.extend({
  keyId: z.string().optional().describe('The key that has the budget'),
  keyName: z.string().optional(),
  subject: z
    .string()
    .optional()
    .describe(
      'The subject of JWTs that has the budget. Without keyId and subject, the budget belongs to the workspace',
    ),
});
export type BudgetOfHolder = Readonly<z.infer<typeof BudgetOfHolder>>;

export const BudgetPage = z.object({ items: z.array(BudgetOfHolder), next: NextOffset });
export type BudgetPage = Readonly<z.infer<typeof BudgetPage>>;
