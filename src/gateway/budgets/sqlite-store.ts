/** The budget store in an SQLite register (the gateway's database). Every change is one transaction. */
import { randomUUID } from 'node:crypto';
import {
  arrayStatement,
  type Register,
  type Row,
  type SqlValue,
  statement,
  type Steps,
} from '../register/register.ts';
import { added, CALLER, countersOf, foldUsage, NUMBERS, sharedMethods } from './shared-store.ts';
import { type BudgetRefusal, type Grant, grantOf } from './grant.ts';
import {
  addTo,
  type BookedUse,
  bookingIn,
  callerOf,
  clamped,
  endedUse,
  holdersOf,
  isRecovered,
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
import {
  ADOPT_MS,
  type Booking,
  type BudgetStore,
  type PlannedBooking,
  type Settlement,
  TASK_ROWS,
  TRIM_STEP,
} from './store.ts';

/** Number of calls that one statement adds. If fewer are left, each call is added by a statement of its own. */
const ROWS_AT_ONCE = 8;

export function createSqliteBudgetStore(register: Register, taskRows = TASK_ROWS): BudgetStore {
  /** Id of this process, which is the owner of its reservations. */
  const owner = randomUUID();
  /**
   * Until this time, `recover` keeps the reservations that earlier processes made for calls to agents, so that resumed
   * tasks can take them over. The first call of `recover` sets the time.
   */
  let adoptsUntil: number | undefined;

  function* reserve(planned: PlannedBooking): Steps<Grant | BudgetRefusal> {
    const { need, limits, day } = planned;
    const found = yield* countersOf(limits);
    const outcome = grantOf(need, found);
    if (!outcome.granted) return outcome;
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
    const uses: BookedUse[] = [];
    for (const each of settlements) {
      const row = each.id === undefined ? undefined : yield* SQL.takeReservation.get(each.id);
      if (row && !isRecovered(row)) yield* free(row);
      const use = endedUse(each, row);
      if (use) uses.push(use);
    }
    yield* add(uses);
  }

  function* recover(now: number): Steps<number> {
    adoptsUntil ??= now + ADOPT_MS;
    const left = yield* SQL.left.all({ owner, now, adopts: now < adoptsUntil ? 1 : 0 });
    for (const row of left) {
      yield* free(row);
      yield* SQL.markRecovered.run(String(row['id']));
    }
    yield* add(left.map((row) => ({ booking: bookingIn(row), inTask: true, isRest: false })));
    return left.length;
  }

  /** Adds usage to the sums, to the rows of tasks and to the counters. */
  function* add(uses: readonly BookedUse[]): Steps<void> {
    const sums = new Map<string, Sum>();
    const calls = new Map<string, BookedUse[]>();
    const numbers = new Map<string, number>();
    for (const use of uses) {
      const { booking, inTask, isRest } = use;
      const name = callerOf(booking).join('\n');
      addTo(sums, booking, { isRest, name });
      const same = calls.get(name);
      if (booking.taskId === '') yield* addWithoutTask(use, numbers);
      else if (same) same.push(use);
      else calls.set(name, [use]);
      // `inTask` is true if the call had a reservation. The counter of a task counts only such calls.
      if (inTask) yield* count(booking, holdersOf(booking).taskHolder);
    }
    for (const same of calls.values()) yield* addTaskRows(same, numbers);
    for (const sum of sums.values()) {
      yield* SQL.add.run(...callerOf(sum), sum.uses, sum.failures, ...numbersOf(sum));
      const { workspaceHolder, keyHolder, subjectHolder } = holdersOf(sum);
      yield* count(sum, workspaceHolder, keyHolder, subjectHolder);
    }
  }

  function* free(held: Row): Steps<void> {
    yield* SQL.free.run({
      ...holdersOf(payerIn(held)),
      ...periodsOf(String(held['day'])),
      currency: String(held['currency']),
      tokens: numberIn(held, 'tokens'),
      nanos: numberIn(held, 'nanos'),
    });
  }

  /**
   * Adds the rows of calls that have the same day, the same currency, the same caller, and the same model or agent.
   * `numbers` has the last row number of each workspace in this transaction.
   */
  function* addTaskRows(uses: readonly BookedUse[], numbers: Map<string, number>): Steps<void> {
    const { booking } = uses[0]!;
    const { workspace } = booking;
    let number = yield* lastNumber(workspace, numbers);
    for (let at = 0; at < uses.length;) {
      const isMany = at + ROWS_AT_ONCE <= uses.length;
      const rows = uses.slice(at, isMany ? at + ROWS_AT_ONCE : at + 1);
      const values = [...callerOf(booking), number + 1, ...rows.flatMap(taskRow)];
      yield* (isMany ? SQL.addTasks : SQL.addTask).run(...values);
      at += rows.length;
      number = yield* numbered(workspace, numbers, number + rows.length);
    }
  }

  /**
   * Adds a call that has no task. If there is already a row for such calls with the same context, the usage is added to
   * this row. The day, the currency, the caller, and the model or agent must also be the same.
   */
  function* addWithoutTask(use: BookedUse, numbers: Map<string, number>): Steps<void> {
    const { workspace } = use.booking;
    const next = (yield* lastNumber(workspace, numbers)) + 1;
    const row = yield* SQL.addWithoutTask.get(...callerOf(use.booking), next, ...taskRow(use));
    yield* numbered(workspace, numbers, Math.max(next - 1, row?.[0] ?? next));
  }

  function* lastNumber(workspace: string, numbers: Map<string, number>): Steps<number> {
    const last = numbers.get(workspace) ?? (yield* SQL.lastTask.get(workspace))?.[0] ?? 0;
    numbers.set(workspace, last);
    return last;
  }

  /** Records the last row number of a workspace. After every TRIM_STEP numbers, deletes the workspace's oldest rows. */
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
    ...sharedMethods(register),
    reserve: (planned) => register.transaction(() => reserve(planned)),
    settle: (settlements) => register.transaction(() => settle(settlements)),
    adopt: (workspace, taskId) =>
      register.transaction(function* () {
        const row = yield* SQL.adopt.get(owner, workspace, taskId, owner);
        return row && reservedIn(row);
      }),
    recover: (now) => register.transaction(() => recover(now)),
    fold: (before) => register.transaction(() => foldUsage(before)),
  };
}

/** Returns the values of one row in the statements that add rows of tasks. */
function taskRow({ booking, isRest }: BookedUse): SqlValue[] {
  const { contextId, taskId, failed } = booking;
  const uses = isRest ? 0 : 1;
  return [contextId, taskId, uses, failed ? uses : 0, ...numbersOf(booking)];
}

const OF_CALL = `holder IN ($workspaceHolder, $keyHolder, $subjectHolder, $taskHolder) AND period IN ($day, $month, 'total')`;

function statements() {
  // A vendor may report absurdly large numbers. The sums are limited, because SQLite cannot store a sum that is too
  // large.
  const conflict = (table: string) => `ON CONFLICT DO UPDATE SET ${added(table, 'min')}`;
  /**
   * The parameters of the statement are the seven columns of CALLER, the number of the first row, and the values of
   * `taskRow`.
   */
  const addTasks = (count: number) => {
    const rows = Array.from({ length: count }, (_, row) => {
      const [context, task, ...numbers] = [0, 1, 2, 3, 4, 5, 6].map((n) => `?${9 + 7 * row + n}`);
      return `(?8 + ${row}, ${context}, ${task}, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ${numbers.join(', ')})`;
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
              $inputTokens, 0, $inputNanos, $outputPrice, $tokens, $nanos, $contextId, 0)`),
    takeReservation: statement('DELETE FROM reservations WHERE id = ? RETURNING *'),
    markRecovered: statement('UPDATE reservations SET recovered = 1 WHERE id = ?'),
    adopt: statement(`
      UPDATE reservations SET owner = ?
      WHERE workspace = ? AND task_id = ? AND agent <> '' AND owner <> ? AND NOT recovered RETURNING *`),
    left: statement(`
      SELECT * FROM reservations
      WHERE NOT recovered AND (expires_at < $now OR (owner <> $owner AND ($adopts = 0 OR agent = '')))`),
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
