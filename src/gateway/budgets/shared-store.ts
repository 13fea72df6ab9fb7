/**
 * The statements and methods that both budget stores share. They read the counters of budgets and the usage, and merge
 * old usage.
 */
import { type Register, statement, type Steps } from '../register/register.ts';
import { type Counter, grantOf, type Limit } from './grant.ts';
import { counterIn, holderName, MAX, numberIn } from './rows.ts';
import type { BudgetStore } from './store.ts';
import { readUsage } from './usage-query.ts';

/** The columns of `spending` that identify a row. */
export const CALLER = 'workspace, day, key_id, subject, model, agent, currency';
const NUMBER_COLUMNS = ['uses', 'failures', 'input_tokens', 'output_tokens', 'nanos'];
export const NUMBERS = NUMBER_COLUMNS.join(', ');

/** The function for the smaller of two numbers, in SQLite and in PostgreSQL. */
type Least = 'min' | 'least';

/** Returns the assignments that add the numbers of a new row to the numbers of the stored row. */
export function added(table: string, least: Least): string {
  return NUMBER_COLUMNS.map(
    (name) => `${name} = ${least}(${table}.${name} + excluded.${name}, ${MAX})`,
  ).join(', ');
}

const folding = (least: Least) => `
  INSERT INTO spending (${CALLER}, ${NUMBERS})
  SELECT workspace, substr(day, 1, 7), key_id, subject, model, agent, currency,
         ${NUMBER_COLUMNS.map((name) => `CAST(${least}(sum(${name}), ${MAX}) AS BIGINT)`).join(', ')}
  FROM spending WHERE day < ? AND length(day) = 10 GROUP BY 1, 2, 3, 4, 5, 6, 7
  ON CONFLICT (${CALLER}) DO UPDATE SET ${added('spending', least)}`;

/**
 * Returns the statements for the sums of a budget's holder (a workspace, key or subject). The sums are floats, so that
 * a very large sum does not overflow.
 */
function sums(tokens: string, table: string) {
  const of = (holder: string) =>
    statement(`
      SELECT coalesce(sum(CAST(${tokens} AS double precision)), 0) AS tokens,
             coalesce(sum(CASE WHEN currency = $currency THEN CAST(nanos AS double precision) ELSE 0 END), 0) AS nanos
      FROM ${table} WHERE ${holder} AND day >= $from AND day < $to`);
  return {
    workspace: of('workspace = $workspace'),
    key: of('key_id = $id'),
    // The last condition is needed so that the database uses the partial index of subjects.
    subject: of(`workspace = $workspace AND subject = $id AND subject <> ''`),
  };
}

const SQL = {
  spent: sums('input_tokens + output_tokens', 'spending'),
  reserved: sums('tokens', '(SELECT * FROM reservations WHERE NOT recovered) live'),
  counter: statement(
    'SELECT * FROM budget_counters WHERE holder = ? AND period = ? AND currency = ?',
  ),
  seen: statement('UPDATE reservations SET seen_tokens = ? WHERE id = ? AND NOT recovered'),
  fold: statement(folding('min'), folding('least')),
  drop: statement('DELETE FROM spending WHERE day < ? AND length(day) = 10'),
  dropCounters: statement(
    'DELETE FROM budget_counters WHERE used_on < ? AND reserved_tokens = 0 AND reserved_nanos = 0',
  ),
  dropRecovered: statement('DELETE FROM reservations WHERE recovered AND day < ?'),
  dropTasks: statement('DELETE FROM task_spending WHERE day < ?'),
  // All names between `task:` and `task;` are names of tasks, because `;` follows `:` in ASCII.
  dropTaskCounters: statement(`
    DELETE FROM budget_counters
    WHERE holder > 'task:' AND holder < 'task;' AND used_on < ? AND reserved_tokens = 0 AND reserved_nanos = 0`),
};

/** The counter of a limit. `stored` is false if the counter was computed and has no row yet. */
export interface FoundCounter {
  readonly limit: Limit;
  readonly counter: Counter;
  readonly stored: boolean;
}

/** Returns the counters of the limits, in the same order. */
export function* countersOf(limits: readonly Limit[]): Steps<FoundCounter[]> {
  const found: FoundCounter[] = [];
  for (const limit of limits) found.push(yield* counterOf(limit));
  return found;
}

function* counterOf(limit: Limit): Steps<FoundCounter> {
  const { holder, period, currency } = limit;
  const row = yield* SQL.counter.get(holderName(holder), period.name, currency);
  return row
    ? { limit, counter: counterIn(row), stored: true }
    : { limit, counter: yield* summed(limit), stored: false };
}

/**
 * Computes a counter from `spending` and `reservations`. For a task, all sums are zero. `spending` has no column for
 * tasks, so the usage of a task is summed up only in its counter.
 */
export function* summed({ holder, period, currency }: Limit): Steps<Counter> {
  const { kind, workspace, id } = holder;
  const named = {
    currency,
    from: period.from,
    to: period.to,
    // SQLite refuses values that the statement does not use.
    ...(kind !== 'key' && { workspace }),
    ...(kind !== 'workspace' && { id }),
  };
  const spent = kind === 'task' ? undefined : yield* SQL.spent[kind].get(named);
  const reserved = kind === 'task' ? undefined : yield* SQL.reserved[kind].get(named);
  return {
    calls: 0,
    tokens: numberIn(spent, 'tokens'),
    nanos: numberIn(spent, 'nanos'),
    reservedTokens: numberIn(reserved, 'tokens'),
    reservedNanos: numberIn(reserved, 'nanos'),
  };
}

/** Returns the methods that are the same in both budget stores. */
export function sharedMethods(
  register: Register,
): Pick<BudgetStore, 'check' | 'seen' | 'spent' | 'usage'> {
  return {
    check: ({ need, limits }) =>
      register.read(function* () {
        return grantOf(need, yield* countersOf(limits));
      }),
    seen: (id, outputTokens) => register.read(() => SQL.seen.run(outputTokens, id)),
    spent: (limit) =>
      register.read(function* () {
        return (yield* counterOf(limit)).counter;
      }),
    usage: (workspace, query) => register.read(() => readUsage(workspace, query)),
  };
}

/** See `BudgetStore.fold`. */
export function* foldUsage({ month, taskDay }: Parameters<BudgetStore['fold']>[0]): Steps<void> {
  yield* SQL.fold.run(month);
  yield* SQL.drop.run(month);
  yield* SQL.dropCounters.run(month);
  yield* SQL.dropRecovered.run(taskDay);
  yield* SQL.dropTasks.run(taskDay);
  yield* SQL.dropTaskCounters.run(taskDay);
}
