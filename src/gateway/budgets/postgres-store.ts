/**
 * The budget store in PostgreSQL, for several gateways (nodes). Every change is one transaction. The transaction locks
 * the counters that it changes, so that the budgets are exact across nodes. The calls that begin or end while a
 * transaction is in progress are stored together by the next transaction. So a busy budget needs fewer transactions
 * than calls.
 *
 * A node that dies leaves reservations behind. Another node ends these reservations and counts the known usage. If the
 * dead node was in fact only suspended, it later counts the difference between the actual usage and the known usage.
 */
import { randomUUID } from 'node:crypto';
import { A2AError } from '../../protocol/index.ts';
import { jsonRows } from '../register/postgres-statement.ts';
import type { PostgresRegister } from '../register/postgres-register.ts';
import type { Row, Steps } from '../register/register.ts';
import { foldUsage, sharedMethods, summed } from './shared-store.ts';
import { type BudgetRefusal, type Grant, grantOf, type Limit } from './grant.ts';
import { Counters, type StoredCounter } from './counters.ts';
import { BUDGET_SQL as SQL } from './postgres-statements.ts';
import {
  addTo,
  atMost,
  type BookedUse,
  bookingIn,
  callerOf,
  clamped,
  endedUse,
  holderName,
  isRecovered,
  numberIn,
  payerIn,
  reservedIn,
  type Sum,
} from './rows.ts';
import {
  ADOPT_MS,
  type BudgetStore,
  type Payer,
  type PlannedBooking,
  type Settlement,
  TASK_ROWS,
  TRIM_STEP,
} from './store.ts';

/** Maximum number of reservations in one transaction. */
const MAX_BATCH = 500;
/** Maximum number of attempts to create the missing counters of a batch. */
const MAX_TRIES = 5;
/** Maximum number of reservations in `doubtfulReservations`. Further ones end when they expire. */
const MAX_DOUBTFUL = 10_000;
/** The time in which a transaction may still be committed after its connection is lost, in milliseconds. */
const DOUBT_MS = 1000;

type Outcome = Grant | BudgetRefusal;

interface Waiting {
  readonly planned: PlannedBooking;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A limit that applies to a call, and the day of the call. */
interface DatedLimit {
  readonly limit: Limit;
  readonly day: string;
}

export function createPostgresBudgetStore(
  register: PostgresRegister,
  { adoptSeconds = ADOPT_MS / 1000 }: { readonly adoptSeconds?: number } = {},
): BudgetStore {
  const { node } = register;
  let waiting: Waiting[] = [];
  let reserving = false;
  let recovering: Promise<number> | undefined;
  /**
   * Reservations whose transaction seemed to fail but may have been committed, with the time of the failure. Each
   * settlement and each recovery releases those that are stored. A reservation stays in this map for at least DOUBT_MS,
   * because its transaction may be committed during this time.
   */
  const doubtfulReservations = new Map<string, number>();
  /**
   * The id of each settlement's batch, set at the first attempt to store the settlement. A transaction that seemed to
   * fail may have been committed. So a retry stores only the batches that are not marked in the database.
   */
  const batches = new WeakMap<Settlement, string>();
  const untrimmed = new Map<string, number>();

  function* addCounters(limits: readonly DatedLimit[]): Steps<void> {
    if (limits.length === 0) return;
    const rows: Record<string, string | number>[] = [];
    for (const { limit, day } of limits) {
      const { holder, period, currency } = limit;
      const counter = clamped(yield* summed(limit));
      const name = { holder: holderName(holder), period: period.name, currency };
      rows.push(counterRow({ ...name, usedOn: day, ...counter }));
    }
    yield* SQL.addCounters.run({ rows: jsonRows(rows) });
  }

  function* createCounters(missing: readonly DatedLimit[]): Steps<void> {
    yield* SQL.alone.get();
    yield* addCounters(missing);
  }

  function* lockedCounters(calls: readonly (Payer & { readonly day: string })[]): Steps<Counters> {
    const names = Counters.namesFor(calls);
    return new Counters(yield* SQL.lockCounters.all({ rows: jsonRows(names) }));
  }

  function* store(counters: Counters): Steps<void> {
    const changed = counters.changed();
    if (changed.length === 0) return;
    yield* SQL.setCounters.run({ rows: jsonRows(changed.map(counterRow)) });
  }

  /**
   * Reserves the calls one after the other. If counters are missing, reserves nothing and returns the limits of these
   * counters.
   */
  function* reserveAll(
    plans: readonly PlannedBooking[],
  ): Steps<{ readonly outcomes: readonly Outcome[]; readonly missing: readonly DatedLimit[] }> {
    yield* SQL.share.get();
    const all = plans.flatMap(({ limits, day }) => limits.map((limit) => ({ limit, day })));
    yield* addCounters(all.filter(({ limit }) => limit.holder.kind === 'task'));
    const counters = yield* lockedCounters(plans);
    const missing = all.filter(({ limit }) => !counters.of(limit));
    if (missing.length > 0) return { outcomes: [], missing };
    const outcomes: Outcome[] = [];
    const reservations: Record<string, string | number>[] = [];
    for (const { need, limits, ...call } of plans) {
      const found = limits.flatMap((limit) => {
        const counter = counters.of(limit);
        return counter ? [{ limit, counter }] : [];
      });
      const outcome = grantOf(need, found);
      outcomes.push(outcome);
      if (!outcome.granted) continue;
      const { tokens, nanos } = clamped(outcome);
      counters.hold(call, { tokens, nanos, currency: need.currency });
      reservations.push({
        id: call.id,
        owner: node(),
        expires_at: call.expiresAt,
        ...payerColumns(call),
        day: call.day,
        model: call.model,
        agent: call.agent,
        currency: need.currency,
        input_tokens: need.inputTokens,
        seen_tokens: 0,
        input_nanos: need.inputNanos,
        output_price: need.outputPrice,
        tokens,
        nanos,
      });
    }
    yield* store(counters);
    if (reservations.length > 0) yield* SQL.addReservations.run({ rows: jsonRows(reservations) });
    return { outcomes, missing };
  }

  async function reserveBatch(plans: readonly PlannedBooking[]): Promise<readonly Outcome[]> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { outcomes, missing } = await register.transaction(() => reserveAll(plans));
      if (missing.length === 0) return outcomes;
      await register.transaction(() => createCounters(missing));
    }
    throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
  }

  async function reserveWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        const outcomes = await reserveBatch(batch.map(({ planned }) => planned));
        for (const [at, { resolve }] of batch.entries()) resolve(outcomes[at]!);
      } catch (error) {
        for (const { planned, reject } of batch) {
          if (doubtfulReservations.size < MAX_DOUBTFUL) {
            doubtfulReservations.set(planned.id, performance.now());
          }
          reject(error);
        }
      }
    }
    reserving = false;
  }

  /** Stores usage, and frees the reservations `held`. */
  function* count(held: readonly Row[], uses: readonly BookedUse[]): Steps<void> {
    const calls = held.map((row) => ({ ...payerIn(row), day: String(row['day']) }));
    const counters = yield* lockedCounters([...calls, ...uses.map(({ booking }) => booking)]);
    for (const [at, row] of held.entries()) {
      counters.free(calls[at]!, {
        tokens: numberIn(row, 'tokens'),
        nanos: numberIn(row, 'nanos'),
        currency: String(row['currency']),
      });
    }
    const sums = new Map<string, Sum>();
    const tasks = new Map<string, Sum>();
    for (const { booking, inTask, isRest } of uses) {
      counters.use(booking, inTask);
      const { taskId, contextId } = booking;
      addTo(sums, booking, { isRest });
      addTo(tasks, booking, { isRest, name: [...callerOf(booking), contextId, taskId].join('\n') });
    }
    yield* store(counters);
    if (uses.length === 0) return;
    yield* SQL.addUsage.run({ rows: jsonRows([...sums.values()].map(usageRow)) });
    yield* SQL.addTasks.run({ rows: jsonRows([...tasks.values()].map(usageRow)) });
  }

  function* settleAll(given: readonly Settlement[]): Steps<void> {
    yield* SQL.share.get();
    const names = new Set(given.map((each) => batches.get(each)!));
    const marked = yield* SQL.mark.all({ rows: jsonRows([...names].map((id) => ({ id }))) });
    const unstored = new Set(marked.map((row) => String(row['batch'])));
    const settlements = given.filter((each) => unstored.has(batches.get(each)!));
    const ids = settlements.flatMap(({ id }) => (id === undefined ? [] : [{ id }]));
    const orphans = [...doubtfulReservations.keys()].map((id) => ({ id }));
    const taken = yield* SQL.takeReservations.all({ rows: jsonRows([...ids, ...orphans]) });
    const byId = new Map(taken.map((row) => [String(row['id']), row]));
    const uses = [...settlements, ...orphans].flatMap(
      (each) => endedUse(each, byId.get(each.id ?? '')) ?? [],
    );
    yield* count(
      taken.filter((row) => !isRecovered(row)),
      uses,
    );
  }

  async function settle(settlements: readonly Settlement[]): Promise<void> {
    const batch = randomUUID();
    for (const each of settlements) if (!batches.has(each)) batches.set(each, batch);
    const since = performance.now() - DOUBT_MS;
    const orphans = [...doubtfulReservations].filter(([, failedAt]) => failedAt <= since);
    await register.transaction(() => settleAll(settlements));
    for (const [id] of orphans) doubtfulReservations.delete(id);
    await trim(settlements);
  }

  /** Removes the oldest rows of tasks, so that a workspace has at most about TASK_ROWS. */
  async function trim(settlements: readonly Settlement[]): Promise<void> {
    for (const { booking } of settlements) {
      if (!booking) continue;
      const { workspace } = booking;
      const rows = (untrimmed.get(workspace) ?? 0) + 1;
      untrimmed.set(workspace, rows);
      if (rows < TRIM_STEP) continue;
      untrimmed.delete(workspace);
      await Promise.resolve(
        register.read(() => SQL.trimTasks.run({ workspace, kept: TASK_ROWS })),
      ).catch(() => undefined);
    }
  }

  function* recoverAll(now: number): Steps<number> {
    yield* SQL.share.get();
    yield* SQL.markLeft.run();
    const left = yield* SQL.left.all({ now, adopt: adoptSeconds });
    if (left.length === 0) return 0;
    const uses = left.map((row) => ({ booking: bookingIn(row), inTask: true, isRest: false }));
    yield* count(left, uses);
    const ids = left.map((row) => ({ id: String(row['id']) }));
    yield* SQL.markRecovered.run({ rows: jsonRows(ids) });
    return left.length;
  }

  async function recover(now: number): Promise<number> {
    const doubtful = doubtfulReservations.size;
    if (doubtful > 0) await settle([]);
    return doubtful + (await register.transaction(() => recoverAll(now)));
  }

  return {
    ...sharedMethods(register),
    reserve: (planned) =>
      new Promise((resolve, reject) => {
        waiting.push({ planned, resolve, reject });
        if (reserving) return;
        reserving = true;
        setImmediate(() => void reserveWaiting());
      }),
    settle,
    adopt: (workspace, taskId) =>
      register.transaction(function* () {
        const row = yield* SQL.adopt.get({ owner: node(), workspace, task: taskId });
        return row && reservedIn(row);
      }),
    // Calls that are refused at the same time share one search for reservations of dead nodes.
    recover: (now) => (recovering ??= recover(now).finally(() => (recovering = undefined))),
    // Only one node at a time removes old rows. The other nodes skip this.
    fold: (before) =>
      register.transaction(function* () {
        if ((yield* SQL.mayFold.get())?.['alone'] !== true) return;
        yield* foldUsage(before);
        yield* SQL.dropSettled.run();
        yield* SQL.dropBuckets.run();
      }),
  };
}

function counterRow(counter: StoredCounter): Record<string, string | number> {
  const { reservedTokens, reservedNanos, usedOn, ...columns } = counter;
  return {
    ...columns,
    reserved_tokens: atMost(reservedTokens),
    reserved_nanos: atMost(reservedNanos),
    used_on: usedOn,
  };
}

function payerColumns({ workspace, keyId, subject, taskId, contextId }: Payer) {
  return { workspace, key_id: keyId, subject, task_id: taskId, context_id: contextId };
}

function usageRow(sum: Sum): Record<string, string | number> {
  const { uses, failures, nanos, day, model, agent, currency } = sum;
  const tokens = { input_tokens: sum.inputTokens, output_tokens: sum.outputTokens };
  return { ...payerColumns(sum), day, model, agent, currency, uses, failures, ...tokens, nanos };
}
