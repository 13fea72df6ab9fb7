import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { A2AError } from '../../protocol/index.ts';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import type { Pricing } from '../cards/schema.ts';
import type { Budget } from './budget.ts';
import type { Use } from './spending.ts';

const DAY_MS = 86_400_000;
const USD: Pricing = { inputPricePerToken: 0.001, outputPricePerToken: 0.002, currency: 'USD' };

function setup(budget?: Budget) {
  const gateway = testGateway();
  const made = gateway.keys.create(
    { workspace: 'default', name: 'ci', scopes: ['*'], ...(budget && { budget }) },
    'cli',
  );
  const keyId = made.key.id;
  const spending = gateway.spending();
  const use = (fields: Partial<Use> = {}): Use => ({
    workspace: 'default',
    keyId,
    model: 'small',
    provider: 'p',
    inputTokens: 10,
    outputTokens: 5,
    ...fields,
  });
  return { ...gateway, keyId, spending, again: gateway.spending, use };
}

function refusal(work: () => void): A2AError {
  try {
    work();
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  return assert.fail('it was not refused');
}

describe('a budget', () => {
  test('in tokens is spent with the last of them, until the next day in UTC', () => {
    const { spending, keyId, use, clock } = setup({ tokens: 30, period: 'day' });
    clock.time = Date.parse('2026-11-15T23:59:58.500Z');
    spending.check({ keyId }, undefined);
    spending.record(use());
    spending.check({ keyId }, undefined);
    spending.record(use());
    const error = refusal(() => spending.check({ keyId }, undefined));
    assert.deepEqual(
      [error.kind, error.reason, error.detail.retryAfterSeconds],
      ['rateLimited', 'BUDGET_EXHAUSTED', 2],
    );
    clock.time += 1500;
    spending.check({ keyId }, undefined);
    assert.equal(spending.budgetStatus(keyId)?.spent.tokens, 0);
  });

  test('in money is counted in nano-units, so that small change adds up exactly', () => {
    const { spending, keyId, use } = setup({ amount: 0.3, currency: 'USD', period: 'total' });
    for (let times = 0; times < 3; times++) {
      spending.check({ keyId }, USD);
      spending.record(use({ cost: { amount: 0.1, currency: 'USD' } }));
    }
    assert.deepEqual(spending.budgetStatus(keyId)?.spent, { tokens: 45, amount: 0.3 });
    const error = refusal(() => spending.check({ keyId }, USD));
    assert.deepEqual(
      [error.reason, error.detail.retryAfterSeconds],
      ['BUDGET_EXHAUSTED', undefined],
    );
  });

  test('in money forbids a model without a price in its currency', () => {
    const { spending, keyId } = setup({ amount: 1, currency: 'EUR', period: 'month' });
    assert.equal(refusal(() => spending.check({ keyId }, undefined)).kind, 'forbidden');
    assert.match(refusal(() => spending.check({ keyId }, USD)).message, /budget in EUR/);
    spending.check({ keyId }, { ...USD, currency: 'EUR' });
  });

  test('of a month begins anew with the next, also in December and a leap year', () => {
    const { spending, keyId, use, clock } = setup({ tokens: 1, period: 'month' });
    for (const [now, next] of [
      ['2026-12-31T23:00:00Z', '2027-01-01T00:00:00.000Z'],
      ['2028-02-29T12:00:00Z', '2028-03-01T00:00:00.000Z'],
    ] as const) {
      clock.time = Date.parse(now);
      spending.check({ keyId }, undefined);
      spending.record(use());
      assert.equal(spending.budgetStatus(keyId)?.resetsAt, next);
      const { detail } = refusal(() => spending.check({ keyId }, undefined));
      assert.equal(detail.retryAfterSeconds, (Date.parse(next) - clock.time) / 1000);
    }
  });

  test('is still spent after a restart, a rotation, and a clock that goes back', () => {
    const { spending, again, keys, keyId, use, clock } = setup({ tokens: 15, period: 'day' });
    spending.record(use());
    keys.rotate('default', keyId, {}, 'cli');
    refusal(() => again().check({ keyId }, undefined));
    clock.time += DAY_MS;
    spending.check({ keyId }, undefined);
    clock.time -= DAY_MS;
    refusal(() => spending.check({ keyId }, undefined));
  });

  test('is no concern of a key without one, nor of a caller without a key', () => {
    const { spending, keyId, use } = setup();
    spending.record(use({ inputTokens: 1e12 }));
    spending.record(use({ keyId: undefined }));
    spending.check({ keyId }, undefined);
    spending.check({ keyId: undefined }, undefined);
    assert.equal(spending.budgetStatus(keyId), undefined);
  });
});

test('the sums of a budget are those of its uses, with restarts and days between them', () => {
  const move = fc.oneof(
    fc.record({ tokens: fc.nat({ max: 1000 }), nanos: fc.nat({ max: 1e9 }) }),
    fc.constant('restart' as const),
    fc.constant('wait' as const),
  );
  const period = fc.constantFrom('day' as const, 'month' as const, 'total' as const);
  fc.assert(
    fc.property(period, fc.array(move, { maxLength: 30 }), (period, moves) => {
      const { again, keyId, use, clock, ...rest } = setup({
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
        else if (each === 'wait') clock.time += 5 * DAY_MS;
        else {
          const cost = { amount: each.nanos / 1e9, currency: 'USD' };
          spending.record(use({ inputTokens: each.tokens, outputTokens: 0, cost }));
          uses.push({ at: now(), ...each });
        }
        const counted = uses.filter(({ at }) => at === now());
        const sum = (of: 'tokens' | 'nanos') => counted.reduce((total, one) => total + one[of], 0);
        assert.deepEqual(spending.budgetStatus(keyId)?.spent, {
          tokens: sum('tokens'),
          amount: sum('nanos') / 1e9,
        });
      }
      rest.register.close();
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 1000 : 50 },
  );
});

describe('answers under way', () => {
  test('are few before the first has ended', () => {
    const { spending, keyId, use } = setup({ tokens: 1000, period: 'day' });
    const ends = [1, 2, 3, 4].map(() => spending.begin({ keyId }, undefined));
    const error = refusal(() => spending.check({ keyId }, undefined));
    assert.deepEqual([error.kind, error.detail.retryAfterSeconds], ['rateLimited', 1]);
    assert.notEqual(error.reason, 'BUDGET_EXHAUSTED');
    refusal(() => spending.begin({ keyId }, undefined));
    // Twice is once.
    ends[0]?.();
    ends[0]?.();
    spending.begin({ keyId }, undefined);
    refusal(() => spending.begin({ keyId }, undefined));
    ends[1]?.();
    spending.record(use());
    spending.check({ keyId }, undefined);
  });

  test('count as much as those before took, in tokens or money', () => {
    const { spending, again, keyId, use } = setup({
      tokens: 10_000,
      amount: 1,
      currency: 'USD',
      period: 'day',
    });
    const cost = { amount: 0.1, currency: 'USD' };
    for (let times = 0; times < 5; times++) spending.record(use({ cost }));
    for (const each of [spending, again()]) {
      // Half of it is spent; the fifth may take the rest.
      const ends = [1, 2, 3, 4, 5].map(() => each.begin({ keyId }, USD));
      refusal(() => each.begin({ keyId }, USD));
      for (const end of ends) end();
      each.check({ keyId }, USD);
    }
  });

  test('of a key without a budget are no concern', () => {
    const { spending, keyId } = setup();
    for (let times = 0; times < 100; times++) spending.begin({ keyId }, undefined);
    spending.begin({ keyId: undefined }, undefined);
  });
});

describe('a disk that fails', () => {
  test('loses no count while the process lives, fails nothing, and is logged once', () => {
    const { spending, again, keyId, use, register, logger, clock } = setup({
      tokens: 45,
      period: 'day',
    });
    spending.check({ keyId }, undefined);
    register.db.exec(`
      CREATE TRIGGER full BEFORE INSERT ON spending BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
    spending.record(use());
    spending.record(use());
    assert.deepEqual(logger.lines, ['failed to store usage; it is kept in memory and retried']);
    assert.equal(spending.budgetStatus(keyId)?.spent.tokens, 30);
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, 0);

    register.db.exec('DROP TRIGGER full');
    clock.time += 5000;
    spending.record(use());
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, 45);
    refusal(() => spending.check({ keyId }, undefined));
  });

  test('is left alone for a while: whoever holds it holds up nobody here', () => {
    const { spending, again, keyId, use, register, clock } = setup({ tokens: 450, period: 'day' });
    let tries = 0;
    register.db.function('tried', () => (tries += 1));
    register.db.exec(`
      CREATE TRIGGER full BEFORE INSERT ON spending
      BEGIN SELECT tried(), RAISE(ABORT, 'disk full'); END`);
    for (let times = 0; times < 20; times++) spending.record(use());
    assert.equal(tries, 1);
    clock.time += 4999;
    spending.record(use());
    assert.equal(tries, 1);
    clock.time += 1;
    spending.record(use());
    assert.equal(tries, 2);

    register.db.exec('DROP TRIGGER full');
    spending.flush();
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, 22 * 15);
  });

  test('is tried again by a flush', () => {
    const { spending, again, keyId, use, register } = setup({ tokens: 45, period: 'day' });
    register.db.exec('ALTER TABLE spending RENAME TO elsewhere');
    spending.record(use());
    register.db.exec('ALTER TABLE elsewhere RENAME TO spending');
    spending.flush();
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, 15);
  });
});

describe('usage', () => {
  test('is told by day, key and model, of one workspace', () => {
    const { spending, keyId, use, clock } = setup();
    spending.record(use({ cost: { amount: 0.5, currency: 'USD' } }));
    spending.record(use({ cost: { amount: 0.25, currency: 'USD' } }));
    spending.record(use({ workspace: 'other' }));
    clock.time += DAY_MS;
    spending.record(use({ keyId: undefined, model: 'large' }));
    const days = { from: '2026-11-01', to: '2026-11-30', limit: 10 };
    const small = {
      day: '2026-11-15',
      keyId,
      model: 'small',
      uses: 2,
      inputTokens: 20,
      outputTokens: 10,
      cost: { amount: 0.75, currency: 'USD' },
    };
    assert.deepEqual(spending.usage('default', days), [
      { day: '2026-11-16', model: 'large', uses: 1, inputTokens: 10, outputTokens: 5 },
      small,
    ]);
    assert.deepEqual(spending.usage('default', { ...days, keyId }), [small]);
    assert.deepEqual(spending.usage('default', { ...days, from: '2026-11-17' }), []);
  });

  test('of long ago is kept by month, and a budget in total still knows it', () => {
    const { spending, again, keyId, use, clock } = setup({ tokens: 1000, period: 'total' });
    spending.record(use());
    clock.time += 3 * DAY_MS;
    spending.record(use());
    clock.time += 450 * DAY_MS;
    spending.record(use());
    const rows = spending.usage('default', { from: '2026-11-18', to: '2029-01-01', limit: 10 });
    assert.deepEqual(
      rows.map(({ day, uses }) => [day, uses]),
      [
        ['2028-02-11', 1],
        ['2026-11', 2],
      ],
    );
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, 45);
  });

  test('counts nothing that is no number', () => {
    const { spending, keyId, use } = setup({ tokens: 100, period: 'total' });
    spending.record(use({ inputTokens: Number.NaN, outputTokens: -7 }));
    spending.record(use({ inputTokens: Infinity, outputTokens: 1.4 }));
    assert.equal(spending.budgetStatus(keyId)?.spent.tokens, 1);
  });

  test('that is absurd stays a number, and is in nobody else’s way', () => {
    const { spending, again, keyId, use, logger } = setup({ tokens: 100, period: 'total' });
    const cost = { amount: 1e300, currency: 'USD' };
    for (let times = 0; times < 2000; times++) spending.record(use({ inputTokens: 1e300, cost }));
    spending.record(use({ keyId: 'other' }));
    assert.deepEqual(logger.lines, []);
    assert.equal(again().budgetStatus(keyId)?.spent.tokens, Number.MAX_SAFE_INTEGER + 10_000);
    refusal(() => spending.check({ keyId }, undefined));
  });
});
