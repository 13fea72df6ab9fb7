/** The contract of budget stores: budgets are exact, whatever begins and ends at the same time, on one node or on two. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { A2AError } from '../../src/protocol/index.ts';
import { periodAt } from '../../src/gateway/budgets/budget.ts';
import type { Limit } from '../../src/gateway/budgets/grant.ts';
import { createPostgresBudgetStore } from '../../src/gateway/budgets/postgres-store.ts';
import { createSqliteBudgetStore } from '../../src/gateway/budgets/sqlite-store.ts';
import type { Booking, BudgetStore, PlannedBooking } from '../../src/gateway/budgets/store.ts';
import {
  openPostgresRegister,
  type PostgresRegister,
} from '../../src/gateway/register/postgres-register.ts';
import { openRegister } from '../../src/gateway/register/sqlite-register.ts';
import { testDatabase, type TestDatabase } from '../support/postgres.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const NOW = Date.parse('2026-11-15T12:00:00Z');
const DAY = '2026-11-15';
let made = 0;

/** A new workspace, so that the cases do not share budgets. */
function workspaceOf() {
  const workspace = `w${made++}`;
  const day = periodAt('day', NOW);
  const total = periodAt('total', NOW);
  const limits = {
    key: {
      holder: { kind: 'key', workspace, id: `key of ${workspace}` },
      every: 'day',
      period: day,
      tokens: 700,
      currency: '',
    },
    task: {
      holder: { kind: 'task', workspace, id: 't' },
      every: 'total',
      period: total,
      calls: 9,
      currency: '',
    },
    workspace: {
      holder: { kind: 'workspace', workspace, id: '' },
      every: 'total',
      period: total,
      tokens: 1000,
      nanos: 5000,
      currency: 'USD',
    },
  } satisfies Record<string, Limit>;
  return { workspace, limits };
}

type Workspace = ReturnType<typeof workspaceOf>;

function planOf(
  { workspace, limits }: Workspace,
  call: { readonly inTask: boolean; readonly inputTokens: number; readonly answer: number },
): PlannedBooking {
  const { inTask, inputTokens, answer } = call;
  return {
    id: `call ${made++}`,
    workspace,
    keyId: `key of ${workspace}`,
    subject: '',
    taskId: inTask ? 't' : '',
    contextId: '',
    day: DAY,
    model: 'm',
    agent: '',
    expiresAt: NOW + 1e9,
    need: {
      inputTokens,
      inputNanos: inputTokens,
      outputPrice: 2,
      currency: 'USD',
      maxOutputTokens: answer,
    },
    limits: [...(inTask ? [limits.task] : []), limits.key, limits.workspace],
  };
}

function bookingOf(plan: PlannedBooking, outputTokens: number): Booking {
  const { need, limits: _limits, expiresAt: _expiresAt, id: _id, ...call } = plan;
  const { inputTokens, inputNanos, outputPrice, currency } = need;
  const nanos = inputNanos + outputTokens * outputPrice;
  return { ...call, currency, inputTokens, outputTokens, nanos, failed: false };
}

/** One call: when it begins and ends, and how much it may use and uses. */
const call = fc.record({
  node: fc.nat(1),
  inTask: fc.boolean(),
  inputTokens: fc.integer({ min: 1, max: 60 }),
  answer: fc.integer({ min: 1, max: 120 }),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  ending: fc.constantFrom('settle', 'settle', 'release'),
});
type Case = typeof call extends fc.Arbitrary<infer Value> ? Value : never;

/** Runs rounds of calls. All calls of a round begin together, and end together with the calls of the next round. */
async function follow(stores: readonly BudgetStore[], rounds: readonly (readonly Case[])[]) {
  const place = workspaceOf();
  const storeOf = ({ node }: Case) => stores[node % stores.length]!;
  const spent = { tokens: 0, nanos: 0, calls: 0 };
  let held = 0;
  let ending: Promise<unknown>[] = [];
  for (const round of rounds) {
    const begun = round.map(async (each) => {
      const plan = planOf(place, each);
      const outcome = await storeOf(each).reserve(plan);
      return { each, plan, outcome };
    });
    const ended = ending;
    ending = [];
    for (const { each, plan, outcome } of await Promise.all(begun)) {
      if (!outcome.granted) continue;
      if (each.inTask) spent.calls++;
      held += outcome.tokens;
      const answer = outcome.tokens - plan.need.inputTokens;
      const booking = bookingOf(plan, Math.floor(answer * each.share));
      if (each.ending === 'settle') {
        spent.tokens += booking.inputTokens + booking.outputTokens;
        spent.nanos += booking.nanos;
      }
      const settlement = each.ending === 'settle' ? { id: plan.id, booking } : { id: plan.id };
      ending.push(
        Promise.resolve(storeOf(each).settle([settlement])).then(() => (held -= outcome.tokens)),
      );
    }
    await Promise.all(ended);
    assert.ok(spent.tokens <= 700, `${spent.tokens} tokens of 700`);
  }
  await Promise.all(ending);
  assert.equal(held, 0);
  const [store] = stores;
  const { key, workspace } = place.limits;
  const { tokens, nanos } = spent;
  const partOf = async (limit: Limit) => {
    const found = await store!.spent(limit);
    return { tokens: found.tokens, nanos: found.nanos };
  };
  assert.deepEqual(await partOf(workspace), { tokens, nanos });
  assert.equal((await partOf(key)).tokens, tokens);
  assert.ok(spent.calls <= 9, `${spent.calls} calls of 9`);
  assert.ok(nanos <= 5000);
  const query = { by: ['day'] as const, from: DAY, to: DAY, limit: 10, offset: 0 };
  const { rows } = await store!.usage(place.workspace, query);
  assert.equal((rows[0]?.inputTokens ?? 0) + (rows[0]?.outputTokens ?? 0), tokens);
}

/** Usage of two workspaces on two days and in a merged month, and a call in progress. */
async function usageOfAll(store: BudgetStore): Promise<void> {
  const [one, two] = [workspaceOf(), workspaceOf()];
  const call = { inTask: false, inputTokens: 10, answer: 5 };
  const days = [
    [one, DAY],
    [two, DAY],
    [two, '2026-11-14'],
    [two, '2026-10'],
    [two, '2026-09'],
  ] as const;
  for (const [place, day] of days) {
    await store.settle([{ booking: { ...bookingOf(planOf(place, call), 2), day } }]);
  }
  const plan = planOf(two, call);
  await store.reserve(plan);
  const range = { from: '2026-10-20', to: DAY, limit: 1000, offset: 0 };
  const { rows } = await store.usage(undefined, { by: ['workspace', 'day'], ...range });
  const own = rows.filter(({ workspaceId }) =>
    [one.workspace, two.workspace].includes(workspaceId ?? ''),
  );
  assert.deepEqual(
    own.map(({ workspaceId, day, calls, inputTokens }) => [workspaceId, day, calls, inputTokens]),
    [
      [one.workspace, DAY, 1, 10],
      [two.workspace, DAY, 1, 10],
      [two.workspace, '2026-11-14', 1, 10],
      [two.workspace, '2026-10', 1, 10],
    ],
  );
  const all = await store.usage(undefined, { by: [], ...range });
  const sum = rows.reduce((calls, row) => calls + row.calls, 0);
  assert.equal(
    all.rows.reduce((calls, row) => calls + row.calls, 0),
    sum,
  );
  const counter = await store.spent(two.limits.workspace);
  assert.deepEqual([counter.reservedTokens, counter.reservedNanos], [15, 20]);
  // Other tests of this file count what is reserved.
  await store.settle([{ id: plan.id, booking: bookingOf(plan, 2) }]);
}

/** The usage of a workspace by task: the calls, the failures, and the tokens. */
async function usedIn(store: BudgetStore, { workspace }: Workspace) {
  const query = { by: ['task'] as const, from: DAY, to: DAY, limit: 10, offset: 0 };
  const { rows } = await store.usage(workspace, query);
  return rows.map(({ taskId, calls, failures, inputTokens, outputTokens }) => [
    taskId,
    calls,
    failures,
    inputTokens + outputTokens,
  ]);
}

/** A call whose reservation expires before the call ends. */
async function callAfterExpiry(store: BudgetStore): Promise<void> {
  for (const inTask of [false, true]) {
    const place = workspaceOf();
    const plan = planOf(place, { inTask, inputTokens: 100, answer: 400 });
    const { key, task, workspace } = place.limits;
    const spent = async (limit: Limit) => {
      const { tokens, reservedTokens } = await store.spent(limit);
      return [tokens, reservedTokens];
    };
    await store.reserve(plan);
    await store.seen(plan.id, 50);
    await store.recover(plan.expiresAt + 1);
    const taskId = inTask ? 't' : undefined;
    assert.deepEqual(await usedIn(store, place), [[taskId, 1, 1, 150]]);
    await store.seen(plan.id, 90);
    await store.recover(plan.expiresAt + 1);
    await store.settle([{ id: plan.id, booking: bookingOf(plan, 120) }]);
    // The reservation has ended, so a second end of the same call counts nothing.
    await store.settle([{ id: plan.id, booking: bookingOf(plan, 120) }]);
    for (const limit of [key, workspace, ...(inTask ? [task] : [])])
      assert.deepEqual(await spent(limit), [220, 0], limit.holder.kind);
    assert.deepEqual(await usedIn(store, place), [[taskId, 1, 1, 220]]);
    assert.equal((await store.spent(workspace)).nanos, bookingOf(plan, 120).nanos);

    const other = planOf(place, { inTask, inputTokens: 100, answer: 400 });
    await store.reserve(other);
    await store.recover(other.expiresAt + 1);
    await store.settle([{ id: other.id, booking: { ...bookingOf(other, 20), inputTokens: 60 } }]);
    assert.deepEqual(await spent(key), [220 + 80, 0]);

    const released = planOf(place, { inTask, inputTokens: 100, answer: 400 });
    await store.reserve(released);
    await store.recover(released.expiresAt + 1);
    await store.settle([{ id: released.id }]);
    assert.deepEqual(await spent(key), [220 + 80, 0]);
  }
}

test('SQLite: a call that ends after its reservation has expired is counted once', async () => {
  const register = openRegister(undefined, silent);
  await callAfterExpiry(createSqliteBudgetStore(register));
  register.close();
});

test('SQLite: a call of another process that seemed to be dead is counted once', async () => {
  const register = openRegister(undefined, silent);
  const [old, next] = [createSqliteBudgetStore(register), createSqliteBudgetStore(register)];
  const place = workspaceOf();
  const plan = planOf(place, { inTask: false, inputTokens: 100, answer: 400 });
  await old.reserve(plan);
  assert.equal(await next.recover(NOW), 1);
  await old.settle([{ id: plan.id, booking: bookingOf(plan, 120) }]);
  assert.equal((await next.spent(place.limits.key)).tokens, 220);
  register.close();
});

test('SQLite: the usage of all workspaces has each workspace with its days, and a counter has what is reserved', async () => {
  const register = openRegister(undefined, silent);
  await usageOfAll(createSqliteBudgetStore(register));
  register.close();
});

const rounds = fc.array(fc.array(call, { maxLength: 8 }), { minLength: 1, maxLength: 6 });

test('SQLite: whatever begins and ends together, no budget is exceeded and the sums are exact', async () => {
  const register = openRegister(undefined, silent);
  const store = createSqliteBudgetStore(register);
  await fc.assert(
    fc.asyncProperty(rounds, (each) => follow([store], each)),
    { numRuns: 50 },
  );
  register.close();
});

describe('PostgreSQL', () => {
  let database: TestDatabase;
  let registers: PostgresRegister[];
  let stores: BudgetStore[];
  before(async () => {
    database = await testDatabase();
    registers = [
      await openPostgresRegister(database.url, silent),
      await openPostgresRegister(database.url, silent),
    ];
    stores = registers.map((register) => createPostgresBudgetStore(register));
  });
  after(async () => {
    for (const register of registers) await register.close();
    await database.drop();
  });

  test('the usage of all workspaces has each workspace with its days, and a counter has what is reserved', () =>
    usageOfAll(stores[0]!));

  test('whatever begins and ends together on two nodes, no budget is exceeded and the sums are exact', async () => {
    await fc.assert(
      fc.asyncProperty(rounds, (each) => follow(stores, each)),
      { numRuns: 8 },
    );
  });

  test('a call that ends after its reservation has expired is counted once', () =>
    callAfterExpiry(stores[0]!));

  const one = { inTask: false, inputTokens: 100, answer: 400 };

  test('the reservations of a node that is alive are left alone', async () => {
    const place = workspaceOf();
    const plan = planOf(place, one);
    assert.equal((await stores[0]!.reserve(plan)).granted, true);
    assert.equal(await stores[1]!.recover(NOW), 0);
    await stores[0]!.settle([{ id: plan.id }]);
  });

  test('the reservations of a dead node are counted with what had arrived, and if it wakes up it counts the rest', async () => {
    const place = workspaceOf();
    const plan = planOf(place, one);
    const [dead, other] = stores;
    const node = registers[0]!.node();
    assert.equal((await dead!.reserve(plan)).granted, true);
    await dead!.seen(plan.id, 50);
    await database.query(`UPDATE parley.reservations SET owner = 'dead' WHERE owner = $1`, [node]);
    assert.equal(await other!.recover(NOW), 1);
    assert.equal((await other!.spent(place.limits.key)).tokens, 150);
    assert.equal(await other!.recover(NOW), 0);
    await dead!.settle([{ id: plan.id, booking: bookingOf(plan, 120) }]);
    assert.equal((await other!.spent(place.limits.key)).tokens, 220);
  });

  test('a node that wakes up corrects an estimate of its call that was too high', async () => {
    const place = workspaceOf();
    const plan = planOf(place, one);
    const [dead, other] = stores;
    assert.equal((await dead!.reserve(plan)).granted, true);
    await database.query(`UPDATE parley.reservations SET owner = 'dead' WHERE id = $1`, [plan.id]);
    assert.equal(await other!.recover(NOW), 1);
    assert.equal((await other!.spent(place.limits.key)).tokens, 100);
    await dead!.settle([{ id: plan.id, booking: { ...bookingOf(plan, 20), inputTokens: 60 } }]);
    assert.equal((await other!.spent(place.limits.key)).tokens, 80);
  });

  test('usage whose transaction succeeded although the connection was lost is counted once', async () => {
    const place = workspaceOf();
    const [register] = registers;
    let lost = true;
    const store = createPostgresBudgetStore({
      ...register!,
      async transaction(work) {
        const result = await register!.transaction(work);
        if (!lost) return result;
        lost = false;
        throw new A2AError('unavailable');
      },
    });
    const settlements = [1, 2].map((outputTokens) => ({
      booking: bookingOf(planOf(place, one), outputTokens),
    }));
    await assert.rejects(async () => store.settle(settlements));
    await store.settle(settlements);
    assert.equal((await store.spent(place.limits.key)).tokens, 203);
  });

  test('usage that is tried many times in an outage is counted once, and keeps one mark for each batch', async () => {
    const place = workspaceOf();
    const [register] = registers;
    let attempt = 0;
    const store = createPostgresBudgetStore({
      ...register!,
      async transaction(work) {
        attempt++;
        if (attempt === 10) return register!.transaction(work);
        // Some transactions are stored although the connection is lost.
        if (attempt % 3 === 0) await register!.transaction(work);
        throw new A2AError('unavailable');
      },
    });
    const marks = async () =>
      Number((await database.query('SELECT count(*) FROM parley.settled'))[0]?.['count']);
    const before = await marks();
    const next = () => ({ booking: bookingOf(planOf(place, one), 1) });
    const settlements = [next()];
    for (let failures = 0; failures < 9; failures++) {
      if (failures === 4) settlements.push(next(), next());
      await assert.rejects(async () => store.settle(settlements));
    }
    settlements.push(next());
    await store.settle(settlements);
    assert.equal((await store.spent(place.limits.key)).tokens, 4 * 101);
    assert.equal((await marks()) - before, 3);
  });

  test('a call whose reservation was stored although the connection was lost holds nothing and costs nothing', async () => {
    const place = workspaceOf();
    const [register] = registers;
    let lost = false;
    const store = createPostgresBudgetStore({
      ...register!,
      async transaction(work) {
        const result = await register!.transaction(work);
        if (lost) throw new A2AError('unavailable');
        return result;
      },
    });
    // This creates the counters.
    const first = planOf(place, one);
    await store.reserve(first);
    await store.settle([{ id: first.id }]);
    for (const release of [() => store.settle([]), () => store.recover(NOW)]) {
      lost = true;
      const plan = planOf(place, one);
      await assert.rejects(async () => store.reserve(plan));
      lost = false;
      // No other call may end for a long time.
      await release();
      const next = planOf(place, { ...one, answer: 600 });
      const again = await store.reserve(next);
      assert.equal(again.granted && again.tokens, 700);
      await store.settle([{ id: next.id }]);
    }
    lost = true;
    const taken = planOf(place, one);
    await assert.rejects(async () => store.reserve(taken));
    lost = false;
    await database.query(`UPDATE parley.reservations SET owner = 'dead' WHERE id = $1`, [taken.id]);
    assert.equal(await stores[1]!.recover(NOW), 1);
    await store.settle([]);
    assert.equal((await store.spent(place.limits.key)).tokens, 0);
  });
});
