import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { A2AError } from '../../protocol/index.ts';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import type { Pricing } from '../cards/schema.ts';
import type { Budget } from './budget.ts';
import type { BudgetsConfig } from './config.ts';
import type { PlannedCall, Use } from './calls.ts';
import { USUAL_DIMENSIONS, type UsageQuery } from './usage.ts';

const DAY_MS = 86_400_000;
const USD: Pricing = { inputPricePerToken: 0.001, outputPricePerToken: 0.002, currency: 'USD' };

function setup(budget?: Budget, config?: BudgetsConfig) {
  const gateway = testGateway();
  const made = gateway.keys.create(
    { workspace: 'default', name: 'ci', scopes: ['*'], ...(budget && { budget }) },
    'cli',
  );
  const keyId = made.key.id;
  const spending = gateway.spending(config);
  const use = (fields: Partial<Use> = {}): Use => ({
    workspace: 'default',
    keyId,
    model: 'small',
    inputTokens: 10,
    outputTokens: 5,
    ...fields,
  });
  /** A call with a prompt of ten tokens. */
  const call = (fields: Partial<PlannedCall> = {}): PlannedCall => ({
    caller: { workspace: 'default', keyId },
    model: 'small',
    prompt: () => 10,
    ...fields,
  });
  const spent = async () => (await spending.budgetStatus(keyId))?.spent;
  return { ...gateway, keyId, spending, again: () => gateway.spending(config), use, call, spent };
}

async function refusal(work: unknown): Promise<A2AError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  return assert.fail('it was not refused');
}

test('a call without a budget is checked and reserved without a promise', () => {
  const { spending, call } = setup();
  assert.ok(!spending.check(call()) && !(spending.reserve(call()) instanceof Promise));
});

describe('a budget', () => {
  test('in tokens is spent with the last of them, until the next day in UTC', async () => {
    const { spending, use, call, clock, spent } = setup({ tokens: 50, period: 'day' });
    clock.time = Date.parse('2026-11-15T23:59:58.500Z');
    spending.record(use());
    await spending.check(call());
    spending.record(use());
    const error = await refusal(spending.check(call()));
    assert.deepEqual(
      [error.kind, error.reason, error.detail.retryAfterSeconds],
      ['rateLimited', 'BUDGET_EXHAUSTED', 2],
    );
    clock.time += 1500;
    await spending.check(call());
    assert.equal((await spent())?.tokens, 0);
  });

  test('in money is counted in nano-units, so that small change adds up exactly', async () => {
    const { spending, call, spent } = setup({ amount: 0.3, currency: 'USD', period: 'total' });
    for (let times = 0; times < 3; times++) {
      const reservation = await spending.reserve(call({ pricing: USD, maxOutputTokens: 20 }));
      const cost = { amount: 0.1, currency: 'USD' };
      reservation.settle({ inputTokens: 10, outputTokens: 5, cost });
    }
    assert.deepEqual(await spent(), { tokens: 45, amount: 0.3 });
    const error = await refusal(spending.check(call({ pricing: USD })));
    assert.deepEqual(
      [error.reason, error.detail.retryAfterSeconds],
      ['BUDGET_EXHAUSTED', undefined],
    );
  });

  test('in money forbids a model without a price in its currency', async () => {
    const { spending, call } = setup({ amount: 1, currency: 'EUR', period: 'month' });
    assert.equal((await refusal(spending.check(call()))).kind, 'forbidden');
    const other = await refusal(spending.check(call({ pricing: USD })));
    assert.match(other.message, /^This key has a budget in EUR/);
    await spending.check(call({ pricing: { ...USD, currency: 'EUR' } }));
  });

  test('of a month begins anew with the next, also in December and a leap year', async () => {
    const { spending, keyId, use, call, clock } = setup({ tokens: 40, period: 'month' });
    for (const [now, next] of [
      ['2026-12-31T23:00:00Z', '2027-01-01T00:00:00.000Z'],
      ['2028-02-29T12:00:00Z', '2028-03-01T00:00:00.000Z'],
    ] as const) {
      clock.time = Date.parse(now);
      await spending.check(call());
      spending.record(use());
      assert.equal((await spending.budgetStatus(keyId))?.resetsAt, next);
      const { detail } = await refusal(spending.check(call()));
      assert.equal(detail.retryAfterSeconds, (Date.parse(next) - clock.time) / 1000);
    }
  });

  test('is still spent after a restart, a rotation, and a clock that goes back', async () => {
    const { spending, again, keys, keyId, use, call, clock } = setup({ tokens: 30, period: 'day' });
    spending.record(use());
    keys.rotate('default', keyId, {}, 'cli');
    await spending.flush();
    await refusal(again().check(call()));
    clock.time += DAY_MS;
    await spending.check(call());
    clock.time -= DAY_MS;
    await refusal(spending.check(call()));
  });

  test('does not limit a key without one, nor a caller without a key', async () => {
    const { spending, keyId, use, call } = setup();
    spending.record(use({ inputTokens: 1e12 }));
    spending.record(use({ keyId: undefined }));
    const prompt = () => assert.fail('there is no reason to count the prompt');
    await spending.check(call({ prompt }));
    const reservation = await spending.reserve(call({ prompt, caller: { workspace: 'default' } }));
    assert.equal(reservation.maxOutputTokens, undefined);
    assert.equal(await spending.budgetStatus(keyId), undefined);
  });

  test('that is raised has room at once', async () => {
    const { spending, keys, keyId, use, call } = setup({ tokens: 30, period: 'day' });
    spending.record(use());
    await refusal(spending.reserve(call()));
    keys.edit('default', keyId, { budget: { tokens: 1000, period: 'month' } }, 'cli');
    const reservation = await spending.reserve(call());
    assert.equal(reservation.maxOutputTokens, 1000 - 15 - 10);
  });

  test('has room for the longest prompt that fits, and says when a prompt is too long', async () => {
    const { spending, call } = setup({ tokens: 1000, period: 'day' });
    await spending.check(call({ prompt: () => 984 }));
    const error = await refusal(spending.check(call({ prompt: () => 2000 })));
    assert.equal(
      error.message,
      'The budget of this key has 1000 tokens left for today, but the request needs about 2016 (2000 for the prompt and at least 16 for the answer): send a shorter request or ask for a larger budget',
    );
  });
});

test('the sums of a budget are those of its uses, with restarts and days between them', async () => {
  const move = fc.oneof(
    fc.record({ tokens: fc.nat({ max: 1000 }), nanos: fc.nat({ max: 1e9 }) }),
    fc.constant('restart' as const),
    fc.constant('reserve' as const),
    fc.constant('wait' as const),
  );
  const period = fc.constantFrom('day' as const, 'month' as const, 'total' as const);
  await fc.assert(
    fc.asyncProperty(period, fc.array(move, { maxLength: 30 }), async (period, moves) => {
      const { again, keyId, use, call, clock, ...rest } = setup({
        tokens: 1e9,
        amount: 1e5,
        currency: 'USD',
        period,
      });
      let { spending } = rest;
      const uses: { at: string; tokens: number; nanos: number }[] = [];
      const length = { day: 10, month: 7, total: 0 }[period];
      const now = () => new Date(clock.time).toISOString().slice(0, length);
      for (const each of moves) {
        if (each === 'restart') spending = again();
        else if (each === 'reserve') (await spending.reserve(call({ pricing: USD }))).release();
        else if (each === 'wait') clock.time += 5 * DAY_MS;
        else {
          const cost = { amount: each.nanos / 1e9, currency: 'USD' };
          spending.record(use({ inputTokens: each.tokens, outputTokens: 0, cost }));
          uses.push({ at: now(), ...each });
        }
        const counted = uses.filter(({ at }) => at === now());
        const sum = (of: 'tokens' | 'nanos') => counted.reduce((total, one) => total + one[of], 0);
        assert.deepEqual((await spending.budgetStatus(keyId))?.spent, {
          tokens: sum('tokens'),
          amount: sum('nanos') / 1e9,
        });
      }
      rest.register.close();
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 1000 : 50 },
  );
});

describe('calls in progress', () => {
  test('reserve the prompt and the answer, and the last gets a shorter answer', async () => {
    const { spending, call } = setup({ tokens: 300, period: 'day' });
    const first = await spending.reserve(call({ maxOutputTokens: 100 }));
    assert.equal(first.maxOutputTokens, 100);
    const second = await spending.reserve(call({ maxOutputTokens: 1000 }));
    assert.equal(second.maxOutputTokens, 300 - 110 - 10);
    const error = await refusal(spending.reserve(call()));
    assert.deepEqual([error.kind, error.detail.retryAfterSeconds], ['rateLimited', 1]);
    assert.notEqual(error.reason, 'BUDGET_EXHAUSTED');
    first.settle({ inputTokens: 9, outputTokens: 20 });
    // Only the first call of settle or release has an effect.
    first.settle({ inputTokens: 9, outputTokens: 20 });
    first.release();
    assert.equal((await spending.reserve(call())).maxOutputTokens, 300 - 190 - 29 - 10);
  });

  test('give back everything if they are released', async () => {
    const { spending, call, spent } = setup({ tokens: 100, period: 'day' });
    for (let times = 0; times < 10; times++) {
      const reservation = await spending.reserve(call());
      assert.equal(reservation.maxOutputTokens, 90);
      await refusal(spending.reserve(call()));
      reservation.release();
    }
    assert.equal((await spent())?.tokens, 0);
  });

  test('are not limited while there is room for the longest answer', async () => {
    const { spending, call } = setup({ tokens: 1_000_000_000, period: 'day' });
    for (let times = 0; times < 20; times++) {
      assert.equal((await spending.reserve(call())).maxOutputTokens, undefined);
    }
  });

  test('reserve money by the price of the model', async () => {
    const { spending, call } = setup({ amount: 1, currency: 'USD', period: 'day' });
    const priced = { pricing: USD, maxOutputTokens: 1000 };
    assert.equal((await spending.reserve(call(priced))).maxOutputTokens, (1 - 0.01) / 0.002);
    await refusal(spending.reserve(call(priced)));
  });

  test('belong to the day on which they began', async () => {
    const { spending, call, spent, clock } = setup({ tokens: 100, period: 'day' });
    const reservation = await spending.reserve(call());
    clock.time += DAY_MS;
    reservation.settle({ inputTokens: 10, outputTokens: 80 });
    assert.equal((await spent())?.tokens, 0);
    assert.equal((await spending.reserve(call())).maxOutputTokens, 90);
    clock.time -= DAY_MS;
    assert.equal((await spent())?.tokens, 90);
  });

  test('of a process that died count with their prompt and what was seen', async () => {
    const { spending, again, call, spent, logger } = setup({
      tokens: 2000,
      amount: 10,
      currency: 'USD',
      period: 'day',
    });
    const reservation = await spending.reserve(call({ pricing: USD }));
    reservation.seen?.(300);
    reservation.seen?.(400);
    const next = again();
    assert.deepEqual(await spent(), { tokens: 310, amount: 0.61 });
    assert.equal((await next.reserve(call({ pricing: USD }))).maxOutputTokens, 2000 - 310 - 10);
    assert.deepEqual(logger.lines, ['ended reservations of calls that are no longer in progress']);
  });

  test('of an agent are taken over by the task that is resumed, and count once', async () => {
    const { spending, again, call, spent, clock } = setup({ tokens: 100, period: 'day' });
    const agent = { agent: 'theirs', maxOutputTokens: 0 };
    await spending.reserve(call({ ...agent, taskId: 'resumed' }));
    await spending.reserve(call({ ...agent, taskId: 'ended' }));
    const next = again();
    const resumed = await next.resume(call({ ...agent, taskId: 'resumed' }));
    assert.deepEqual(await spent(), { tokens: 0, amount: 0 });
    clock.time += DAY_MS - 1;
    resumed.settle({ inputTokens: 30, outputTokens: 40 });
    await next.flush();
    clock.time -= DAY_MS - 1;
    assert.deepEqual(await spent(), { tokens: 70, amount: 0 });
    // The other one is counted when its room is needed, and no task has taken it over within a minute.
    clock.time += 60_000;
    await refusal(next.reserve(call({ prompt: () => 30 })));
    assert.deepEqual(await spent(), { tokens: 80, amount: 0 });
  });

  test('that were never settled end after a day', async () => {
    const { spending, call, clock } = setup({ tokens: 100, period: 'total' });
    await spending.reserve(call());
    await refusal(spending.reserve(call()));
    clock.time += DAY_MS + 1;
    assert.equal((await spending.reserve(call())).maxOutputTokens, 100 - 10 - 10);
  });
});

describe('several budgets', () => {
  const config: BudgetsConfig = {
    workspaces: { default: { tokens: 500, period: 'day' }, '*': { tokens: 50, period: 'day' } },
    subjects: {
      'default/anna': { tokens: 200, period: 'day' },
      '*': { tokens: 100, period: 'day' },
    },
    task: { calls: 2, amount: 0.1, currency: 'USD' },
  };

  test('must all have room, and the smallest room counts', async () => {
    const { spending, call } = setup({ tokens: 300, period: 'month' }, config);
    const [first, second] = [await spending.reserve(call()), refusal(spending.reserve(call()))];
    assert.equal(first.maxOutputTokens, 290);
    assert.match((await second).message, /^The rest of the budget of this key is reserved/);
    const anna = { workspace: 'default', subject: 'anna' };
    assert.equal((await spending.reserve(call({ caller: anna }))).maxOutputTokens, 190);
    // The key and Anna have reserved 500 tokens, so the workspace has none left.
    const bert = { workspace: 'default', subject: 'bert' };
    const error = await refusal(spending.reserve(call({ caller: bert })));
    assert.match(error.message, /^The rest of the budget of this workspace is reserved/);
    const other = { workspace: 'other', subject: 'anna' };
    assert.equal((await spending.reserve(call({ caller: other }))).maxOutputTokens, 40);
  });

  test('of a subject: its own comes before that of its workspace, and this before the general one', async () => {
    const budgets = { 'default/anna': 140, 'default/*': 130, '*': 120 };
    const each = Object.entries(budgets).map(([name, tokens]) => [name, { tokens, period: 'day' }]);
    const { spending, call } = setup(undefined, { subjects: Object.fromEntries(each) });
    const room = async (workspace: string, subject: string) =>
      (await spending.reserve(call({ caller: { workspace, subject } }))).maxOutputTokens;
    assert.equal(await room('default', 'anna'), 130);
    assert.equal(await room('default', 'bert'), 120);
    assert.equal(await room('other', 'anna'), 110);
  });

  test('are all left alone if one of them refuses', async () => {
    const { spending, call } = setup({ tokens: 300, period: 'day' }, config);
    const bert = { workspace: 'default', subject: 'bert' };
    await refusal(spending.reserve(call({ caller: bert, prompt: () => 150 })));
    assert.equal((await spending.reserve(call())).maxOutputTokens, 290);
  });

  test('of a task limit its calls and its cost', async () => {
    const { spending, call } = setup(undefined, { task: config.task });
    const of = { taskId: 't', pricing: USD, maxOutputTokens: 100 };
    const first = await spending.reserve(call(of));
    assert.equal(first.maxOutputTokens, 45);
    first.settle({ inputTokens: 10, outputTokens: 5, cost: { amount: 0.02, currency: 'USD' } });
    assert.equal((await spending.reserve(call(of))).maxOutputTokens, 35);
    const { message } = await refusal(spending.reserve(call(of)));
    assert.equal(message, 'This task has made all its 2 calls: start a new task');
    await spending.reserve(call({ ...of, taskId: 'u' }));
    await spending.reserve(call({ ...of, taskId: undefined }));
  });

  test('change with the configuration, and know what was spent before', async () => {
    const { spending, call, use } = setup();
    spending.record(use({ inputTokens: 70 }));
    spending.use({ workspaces: { default: { tokens: 100, period: 'month' } } });
    const { message } = await refusal(spending.reserve(call()));
    assert.match(message, /^The budget of this workspace has 25 tokens left for this month, but/);
    spending.use({});
    await spending.reserve(call());
  });
});

describe('a disk that fails', () => {
  const FULL = `CREATE TRIGGER full BEFORE INSERT ON spending
    BEGIN SELECT tried(), RAISE(ABORT, 'disk full'); END`;

  test('loses no count while the process lives, and is logged once', async () => {
    const { spending, again, keyId, use, call, register, logger, clock } = setup({
      tokens: 45,
      period: 'day',
    });
    register.db.function('tried', () => 0);
    register.db.exec(FULL);
    spending.record(use());
    spending.record(use());
    await spending.flush();
    const failed = 'failed to store usage; it is kept in memory and retried';
    assert.equal(logger.lines.filter((line) => line === failed).length, 1);
    assert.equal((await again().budgetStatus(keyId))?.spent.tokens, 0);
    // The sums are not known, so a call with a budget must wait. Others need not.
    assert.equal((await refusal(spending.reserve(call()))).kind, 'unavailable');
    await spending.reserve(call({ caller: { workspace: 'default' } }));

    register.db.exec('DROP TRIGGER full');
    clock.time += 5000;
    spending.record(use());
    await spending.flush();
    assert.equal((await again().budgetStatus(keyId))?.spent.tokens, 45);
    assert.equal((await refusal(spending.reserve(call()))).reason, 'BUDGET_EXHAUSTED');
  });

  test('is left alone for a while, so that requests do not wait for it', async (t) => {
    const { spending, again, keyId, use, register, clock } = setup({ tokens: 450, period: 'day' });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let tries = 0;
    register.db.function('tried', () => (tries += 1));
    register.db.exec(FULL);
    const record = async () => {
      spending.record(use());
      t.mock.timers.tick(50);
      await new Promise(setImmediate);
    };
    for (let times = 0; times < 20; times++) await record();
    clock.time += 4999;
    await record();
    assert.equal(tries, 1);
    clock.time += 1;
    await record();
    assert.equal(tries, 2);
    register.db.exec('DROP TRIGGER full');
    await spending.flush();
    assert.equal((await again().budgetStatus(keyId))?.spent.tokens, 22 * 15);
  });

  test('is tried again by a flush', async () => {
    const { spending, again, keyId, use, register } = setup({ tokens: 45, period: 'day' });
    register.db.exec('ALTER TABLE spending RENAME TO elsewhere');
    spending.record(use());
    await spending.flush();
    register.db.exec('ALTER TABLE elsewhere RENAME TO spending');
    await spending.flush();
    assert.equal((await again().budgetStatus(keyId))?.spent.tokens, 15);
  });
});

describe('usage', () => {
  test('is told by day, caller, and model or agent, of one workspace', async () => {
    const { spending, keyId, use, clock } = setup();
    spending.record(use({ cost: { amount: 0.5, currency: 'USD' } }));
    spending.record(use({ cost: { amount: 0.25, currency: 'USD' } }));
    spending.record(use({ workspace: 'other' }));
    clock.time += DAY_MS;
    spending.record(use({ keyId: undefined, model: 'large' }));
    spending.record(use({ keyId: undefined, subject: 'anna', model: undefined, agent: 'travel' }));
    const by = USUAL_DIMENSIONS;
    const days = { by, from: '2026-11-01', to: '2026-11-30', limit: 10, offset: 0 };
    const small = {
      day: '2026-11-15',
      keyId,
      keyName: 'ci',
      model: 'small',
      calls: 2,
      failures: 0,
      inputTokens: 20,
      outputTokens: 10,
      cost: { amount: 0.75, currency: 'USD' },
    };
    const one = { day: '2026-11-16', calls: 1, failures: 0, inputTokens: 10, outputTokens: 5 };
    assert.deepEqual((await spending.usage('default', days)).rows, [
      { ...one, model: 'large' },
      { ...one, subject: 'anna', agent: 'travel' },
      small,
    ]);
    const rows = async (more: Partial<UsageQuery>) =>
      (await spending.usage('default', { ...days, ...more })).rows;
    assert.deepEqual(await rows({ filter: { key: keyId } }), [small]);
    assert.deepEqual(await rows({ from: '2026-11-17' }), []);
  });

  test('of long ago is kept by month, and a budget in total still knows it', async () => {
    const { spending, again, keyId, use, clock } = setup({ tokens: 1000, period: 'total' });
    for (const days of [3, 450, 0]) {
      spending.record(use());
      await spending.flush();
      clock.time += days * DAY_MS;
    }
    const { rows } = await spending.usage('default', {
      by: ['day'],
      from: '2026-11-18',
      to: '2029-01-01',
      limit: 10,
      offset: 0,
    });
    assert.deepEqual(
      rows.map(({ day, calls }) => [day, calls]),
      [
        ['2028-02-11', 1],
        ['2026-11', 2],
      ],
    );
    assert.equal((await again().budgetStatus(keyId))?.spent.tokens, 45);
  });

  test('counts nothing that is no number', async () => {
    const { spending, use, spent } = setup({ tokens: 100, period: 'total' });
    spending.record(use({ inputTokens: Number.NaN, outputTokens: -7 }));
    spending.record(use({ inputTokens: Infinity, outputTokens: 1.4 }));
    assert.equal((await spent())?.tokens, 1);
  });

  test('that is absurd stays a number, and does not disturb others', async () => {
    const { spending, again, use, call, keyId, logger } = setup({ tokens: 100, period: 'total' });
    const cost = { amount: 1e300, currency: 'USD' };
    for (let times = 0; times < 2000; times++) spending.record(use({ inputTokens: 1e300, cost }));
    spending.record(use({ keyId: 'other' }));
    await spending.flush();
    assert.deepEqual(logger.lines, []);
    const status = await again().budgetStatus(keyId);
    assert.equal(status?.spent.tokens, Number.MAX_SAFE_INTEGER + 10_000);
    await refusal(spending.reserve(call()));
  });
});
