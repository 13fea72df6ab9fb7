/** Reads, with one statement, how much each key of a workspace has spent. A list of keys shows these amounts. */
import type { MaybePromise } from '../../base/index.ts';
import { type Register, statement } from '../register/register.ts';
import { type Budget, dayOf } from './budget.ts';
import { NANOS } from './grant.ts';
import { numberIn } from './rows.ts';
import type { BudgetStatus } from './status.ts';

type Spent = BudgetStatus['spent'];

const sumsIn = (period: string, condition: string) => `
  sum(CASE WHEN ${condition} THEN CAST(input_tokens + output_tokens AS double precision) ELSE 0 END) AS ${period}_tokens,
  sum(CASE WHEN ${condition} THEN CAST(nanos AS double precision) ELSE 0 END) AS ${period}_nanos`;

// A vendor may report absurdly large numbers, so they are added as floating-point numbers, which do not overflow.
const SPENT = statement(`
  SELECT key_id, currency, ${sumsIn('day', 'day = $day')}, ${sumsIn('month', 'substr(day, 1, 7) = $month')},
    ${sumsIn('total', '1 = 1')}
  FROM spending WHERE workspace = $workspace AND key_id <> '' GROUP BY key_id, currency`);

/** Returns a function that returns the tokens and the amount that a key has spent in its budget's current period. */
export function readKeySpending(
  register: Register,
  workspace: string,
  now = Date.now(),
): MaybePromise<(keyId: string, budget: Budget) => Spent> {
  const day = dayOf(now);
  return register.read(function* () {
    const rows = yield* SPENT.all({ workspace, day, month: day.slice(0, 7) });
    const byKey = Map.groupBy(rows, (row) => String(row['key_id']));
    return (keyId, { period, currency }) => {
      let tokens = 0;
      let nanos = 0;
      for (const row of byKey.get(keyId) ?? []) {
        tokens += numberIn(row, `${period}_tokens`);
        if (row['currency'] === currency) nanos += numberIn(row, `${period}_nanos`);
      }
      return { tokens, amount: nanos / NANOS };
    };
  });
}
