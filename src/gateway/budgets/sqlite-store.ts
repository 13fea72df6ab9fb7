/** The budget store in an SQLite register. Every change is one transaction. */
import { randomUUID } from 'node:crypto';
import {
  arrayStatement,
  type Register,
  type SqlValue,
  statement,
  type Steps,
} from '../register/register.ts';
import {
  added,
  CALLER,
  counterOf,
  foldUsage,
  type FoundCounter,
  NUMBERS,
} from './counter-query.ts';
import { type BudgetRefusal, type Grant, grantOf } from './grant.ts';
import {
  addTo,
  bookingIn,
  callerOf,
  clamped,
  holdersOf,
  MAX,
  holderName,
  numberIn,
  numbersOf,
  atMost,
  payerIn,
  periodsOf,
  reservedIn,
  type Sum,
} from './rows.ts';
import { readUsage } from './usage-query.ts';
import {
  ADOPT_MS,
  type Booking,
  type BudgetStore,
  type PlannedBooking,
  type Settlement,
  TASK_ROWS,
  TRIM_STEP,
} from './store.ts';

/** Number of rows of tasks that one statement adds, if there are enough of them. */
const ROWS_AT_ONCE = 8;

export function createSqliteBudgetStore(register: Register, taskRows = TASK_ROWS): BudgetStore {
  /** Id of this process, which is the owner of its reservations. */
  const owner = randomUUID();
  /** The time until which resumed tasks can take over the reservations of their calls to agents. */
  let adoptsUntil: number | undefined;

  function* reserve(planned: PlannedBooking, dry: boolean): Steps<Grant | BudgetRefusal> {
    const { need, limits, day } = planned;
    const found: FoundCounter[] = [];
    for (const limit of limits) found.push(yield* counterOf(limit));
    const outcome = grantOf(need, found);
    if (dry || !outcome.granted) return outcome;
    for (const { limit, counter, stored } of found) {
      if (stored) continue;
      const { holder, currency, period } = limit;
      const named = { holder: holderName(holder), currency, period: period.name, day };
      yield* SQL.addCounter.run({ ...named, ...clamped(counter) });
    }
    const { tokens, nanos } = clamped(outcome);
    yield* SQL.hold.run({
      ...holdersOf(planned),
      ...periodsOf(day),
      currency: need.currency,
      tokens,
      nanos,
    });
    const { limits: _limits, need: _need, ...call } = planned;
    yield* SQL.addReservation.run({
      ...call,
      owner,
      currency: need.currency,
      inputTokens: need.inputTokens,
      inputNanos: need.inputNanos,
      outputPrice: need.outputPrice,
      tokens,
      nanos,
    });
    return outcome;
  }

  function* settle(settlements: readonly Settlement[]): Steps<void> {
    const sums = new Map<string, Sum>();
    const calls = new Map<string, Booking[]>();
    const numbers = new Map<string, number>();
    for (const { id, booking } of settlements) {
      if (id !== undefined) yield* free(id);
      if (!booking) continue;
      const name = callerOf(booking).join('\n');
      addTo(sums, booking, { name });
      const same = calls.get(name);
      if (booking.taskId === '') yield* addWithoutTask(booking, numbers);
      else if (same) same.push(booking);
      else calls.set(name, [booking]);
      // Only a call with a budget has a reservation. Without a budget, the task has no counter.
      if (id !== undefined) yield* count(booking, holdersOf(booking).taskHolder);
    }
    for (const bookings of calls.values()) yield* addTaskRows(bookings, numbers);
    for (const sum of sums.values()) {
      yield* SQL.add.run(...callerOf(sum), sum.uses, sum.failures, ...numbersOf(sum));
      const { workspaceHolder, keyHolder, subjectHolder } = holdersOf(sum);
      yield* count(sum, workspaceHolder, keyHolder, subjectHolder);
    }
  }

  function* free(id: string): Steps<void> {
    const held = yield* SQL.takeReservation.get(id);
    if (!held) return;
    yield* SQL.free.run({
      ...holdersOf(payerIn(held)),
      ...periodsOf(String(held['day'])),
      currency: String(held['currency']),
      tokens: numberIn(held, 'tokens'),
      nanos: numberIn(held, 'nanos'),
    });
  }

  /**
   * Adds the rows of calls with the same caller, model or agent, day and currency. `numbers` has the last row number of
   * each workspace in this transaction.
   */
  function* addTaskRows(bookings: readonly Booking[], numbers: Map<string, number>): Steps<void> {
    const { workspace } = bookings[0]!;
    let number = yield* lastNumber(workspace, numbers);
    for (let at = 0; at < bookings.length;) {
      const isMany = at + ROWS_AT_ONCE <= bookings.length;
      const rows = isMany ? bookings.slice(at, at + ROWS_AT_ONCE) : [bookings[at]!];
      const values: SqlValue[] = [...callerOf(rows[0]!), number + 1];
      for (const row of rows) {
        const { contextId, taskId, failed, inputTokens, outputTokens, nanos } = row;
        values.push(contextId, taskId, failed ? 1 : 0, inputTokens, outputTokens, nanos);
      }
      yield* (isMany ? SQL.addTasks : SQL.addTask).run(...values);
      at += rows.length;
      number = yield* numbered(workspace, numbers, number + rows.length);
    }
  }

  /** Adds a call that has no task. If there is a row for such calls, the usage is added to this row. */
  function* addWithoutTask(booking: Booking, numbers: Map<string, number>): Steps<void> {
    const { workspace, contextId, taskId, failed, inputTokens, outputTokens, nanos } = booking;
    const next = (yield* lastNumber(workspace, numbers)) + 1;
    const used = [contextId, taskId, failed ? 1 : 0, inputTokens, outputTokens, nanos];
    const row = yield* SQL.addWithoutTask.get(...callerOf(booking), next, ...used);
    yield* numbered(workspace, numbers, Math.max(next - 1, row?.[0] ?? next));
  }

  function* lastNumber(workspace: string, numbers: Map<string, number>): Steps<number> {
    const last = numbers.get(workspace) ?? (yield* SQL.lastTask.get(workspace))?.[0] ?? 0;
    numbers.set(workspace, last);
    return last;
  }

  /** Records the last number of a workspace, and deletes its oldest rows from time to time. */
  function* numbered(
    workspace: string,
    numbers: Map<string, number>,
    number: number,
  ): Steps<number> {
    const before = numbers.get(workspace) ?? 0;
    numbers.set(workspace, number);
    if (Math.floor(number / TRIM_STEP) > Math.floor(before / TRIM_STEP)) {
      yield* SQL.trimTasks.run(workspace, number - taskRows);
    }
    return number;
  }

  /** Adds the usage to the counters of at most three holders. */
  function* count(used: Booking | Sum, first: string, second = first, third = first): Steps<void> {
    const tokens = atMost(used.inputTokens + used.outputTokens);
    const { day, currency, nanos } = used;
    yield* SQL.count.run(day, tokens, currency, nanos, first, second, third, day, day.slice(0, 7));
  }

  return {
    reserve(planned, { dry } = { dry: false }) {
      const work = () => reserve(planned, dry);
      return dry ? register.read(work) : register.transaction(work);
    },
    seen: (id, outputTokens) => register.read(() => SQL.seen.run(outputTokens, id)),
    settle: (settlements) => register.transaction(() => settle(settlements)),
    adopt: (workspace, taskId) =>
      register.transaction(function* () {
        const row = yield* SQL.adopt.get(owner, workspace, taskId, owner);
        return row && reservedIn(row);
      }),
    recover: (now) =>
      register.transaction(function* () {
        adoptsUntil ??= now + ADOPT_MS;
        const left = yield* SQL.left.all({ owner, now, adopts: now < adoptsUntil ? 1 : 0 });
        yield* settle(left.map((row) => ({ id: String(row['id']), booking: bookingIn(row) })));
        return left.length;
      }),
    spent: (limit) =>
      register.read(function* () {
        return (yield* counterOf(limit)).counter;
      }),
    usage: (workspace, query) => register.read(() => readUsage(workspace, query)),
    fold: (before) => register.transaction(() => foldUsage(before)),
  };
}

const OF_CALL = `holder IN ($workspaceHolder, $keyHolder, $subjectHolder, $taskHolder) AND period IN ($day, $month, 'total')`;

function statements() {
  // A vendor may report absurdly large numbers. A sum that is too large for SQLite could not be stored.
  const conflict = (table: string) => `ON CONFLICT DO UPDATE SET ${added(table, 'min')}`;
  /** The values are the seven columns of CALLER, the number of the first row, and then six values for each row. */
  const addTasks = (count: number) => {
    const rows = Array.from({ length: count }, (_, row) => {
      const [context, task, failures, ...numbers] = [0, 1, 2, 3, 4, 5].map(
        (n) => `?${9 + 6 * row + n}`,
      );
      return `(?8 + ${row}, ${context}, ${task}, ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ${failures}, ${numbers.join(', ')})`;
    });
    return `INSERT INTO task_spending (number, context_id, task_id, ${CALLER}, ${NUMBERS}) VALUES ${rows.join(', ')}`;
  };
  return {
    addCounter: statement(`
      INSERT INTO budget_counters
      VALUES ($holder, $period, $currency, $calls, $tokens, $nanos, $reservedTokens, $reservedNanos, $day)`),
    hold: statement(`
      UPDATE budget_counters SET calls = calls + 1, used_on = $day,
        reserved_tokens = min(reserved_tokens + $tokens, ${MAX}),
        reserved_nanos = min(reserved_nanos + CASE WHEN currency = $currency THEN $nanos ELSE 0 END, ${MAX})
      WHERE ${OF_CALL}`),
    free: statement(`
      UPDATE budget_counters SET
        reserved_tokens = max(reserved_tokens - $tokens, 0),
        reserved_nanos = max(reserved_nanos - CASE WHEN currency = $currency THEN $nanos ELSE 0 END, 0)
      WHERE ${OF_CALL}`),
    count: statement(`
      UPDATE budget_counters SET used_on = ?,
        tokens = min(tokens + ?, ${MAX}),
        nanos = min(nanos + CASE WHEN currency = ? THEN ? ELSE 0 END, ${MAX})
      WHERE holder IN (?, ?, ?) AND period IN (?, ?, 'total')`),
    addReservation: statement(`
      INSERT INTO reservations
      VALUES ($id, $owner, $expiresAt, $workspace, $keyId, $subject, $taskId, $day, $model, $agent, $currency,
              $inputTokens, 0, $inputNanos, $outputPrice, $tokens, $nanos, $contextId)`),
    takeReservation: statement('DELETE FROM reservations WHERE id = ? RETURNING *'),
    seen: statement('UPDATE reservations SET seen_tokens = ? WHERE id = ?'),
    adopt: statement(`
      UPDATE reservations SET owner = ?
      WHERE workspace = ? AND task_id = ? AND agent <> '' AND owner <> ? RETURNING *`),
    left: statement(`
      SELECT * FROM reservations
      WHERE expires_at < $now OR (owner <> $owner AND ($adopts = 0 OR agent = ''))`),
    add: statement(`
      INSERT INTO spending (${CALLER}, ${NUMBERS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ${conflict('spending')}`),
    lastTask: arrayStatement<[number | null]>(
      'SELECT max(number) FROM task_spending WHERE workspace = ?',
    ),
    addTask: statement(addTasks(1)),
    addTasks: statement(addTasks(ROWS_AT_ONCE)),
    addWithoutTask: arrayStatement<[number]>(
      `${addTasks(1)} ${conflict('task_spending')} RETURNING number`,
    ),
    trimTasks: statement('DELETE FROM task_spending WHERE workspace = ? AND number <= ?'),
  };
}

const SQL = statements();
