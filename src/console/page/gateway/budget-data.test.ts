import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShownBudgetStatus, UsageItem } from './api.ts';
import { curveOf, daysOf, linesOf, passedPart, usedUpOn } from './budget-data.ts';

const NOW = Date.parse('2026-11-11T00:00:00Z');
const row = (day: string, amount: number, tokens = 0): UsageItem => ({
  day,
  calls: 1,
  failures: 0,
  inputTokens: tokens,
  outputTokens: 0,
  cost: { amount, currency: 'EUR' },
});
const month: ShownBudgetStatus = {
  budget: { amount: 30, currency: 'EUR', period: 'month' },
  spent: { tokens: 50, amount: 15 },
  reserved: { tokens: 5, amount: 2 },
  startsOn: '2026-11-01',
  resetsAt: '2026-12-01T00:00:00.000Z',
};

test('the curve of a month grows by the usage of each day, ends today, and ends with what is spent', () => {
  const days = daysOf(month, NOW);
  assert.deepEqual([days.length, days[0], days.at(-1)], [30, '2026-11-01', '2026-11-30']);
  const [line, ...others] = linesOf(month);
  assert.ok(line && others.length === 0);
  assert.deepEqual([line.spent, line.reserved, line.limit, line.unit], [15, 2, 30, 'EUR']);
  const rows = [row('2026-11-10', 4), row('2026-11-02', 10), row('2026-11-10', 1)];
  const curve = curveOf(line, rows, days, NOW);
  assert.deepEqual(curve.slice(0, 12), [0, 10, 10, 10, 10, 10, 10, 10, 10, 15, 15, null]);
  assert.equal(passedPart(month, NOW), 1 / 3);
});

test('the curve of a budget in total begins with all earlier usage', () => {
  const total: ShownBudgetStatus = {
    budget: { tokens: 1000, period: 'total' },
    spent: { tokens: 500, amount: 0 },
    reserved: { tokens: 0, amount: 0 },
  };
  const days = daysOf(total, NOW);
  const [line] = linesOf(total);
  assert.ok(line);
  const curve = curveOf(line, [row('2026-11-10', 0, 100)], days, NOW);
  assert.deepEqual([days.length, curve[0], curve.at(-1)], [90, 400, 500]);
  assert.equal(passedPart(total, NOW), undefined);
});

test('the day on which a budget is used up is told only if it is before the end of the period', () => {
  assert.equal(usedUpOn(month, { spent: 15, limit: 30 }, NOW), '2026-11-21');
  assert.equal(usedUpOn(month, { spent: 9, limit: 30 }, NOW), undefined);
  assert.equal(usedUpOn(month, { spent: 0, limit: 30 }, NOW), undefined);
  assert.equal(usedUpOn(month, { spent: 30, limit: 30 }, NOW), undefined);
});
