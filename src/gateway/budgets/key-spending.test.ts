import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import type { Budget } from './budget.ts';
import { readKeySpending } from './key-spending.ts';

test('what all keys have spent is read at once, and equals the state of each budget', async () => {
  const gateway = testGateway();
  const { clock, keys, register } = gateway;
  const spending = gateway.spending();
  const budgets: Budget[] = [
    { tokens: 1000, period: 'day' },
    { amount: 5, currency: 'USD', period: 'month' },
    { tokens: 1000, amount: 5, currency: 'EUR', period: 'total' },
    { tokens: 1, period: 'month' },
  ];
  const made = budgets.map(
    (budget) =>
      keys.create({ workspace: 'default', name: 'x', scopes: ['*'], budget }, 'cli').key.id,
  );
  const now = clock.time;
  for (const time of ['2025-12-31T12:00:00Z', '2026-11-01T12:00:00Z', '2026-11-15T11:00:00Z']) {
    clock.time = Date.parse(time);
    for (const keyId of made.slice(0, 3)) {
      for (const currency of ['USD', 'EUR']) {
        const cost = { amount: 0.3, currency };
        const use = { workspace: 'default', keyId, model: 'm', inputTokens: 10, outputTokens: 5 };
        spending.record({ ...use, cost });
      }
    }
    await spending.flush();
  }
  clock.time = now;
  const spent = await readKeySpending(register, 'default', now);
  const all = made.map((keyId, at) => spent(keyId, budgets[at]!));
  const states = await Promise.all(made.map((keyId) => spending.budgetStatus(keyId)));
  assert.deepEqual(
    all,
    states.map((state) => state?.spent),
  );
  assert.deepEqual(
    all.map(({ tokens, amount }) => [tokens, amount]),
    [
      [30, 0],
      [60, 0.6],
      [90, 0.9],
      [0, 0],
    ],
  );
  await spending.close();
});
