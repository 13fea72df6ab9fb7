/** The checker of budgets finds each kind of violation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BudgetHistory,
  checkBudgets,
  emptyBudgetHistory,
  type StoredBudget,
  type VendorCall,
} from './budget-checker.ts';

const good: StoredBudget = {
  holder: 'k',
  tokens: 1000,
  spent: 900,
  counted: 900,
  reserved: 0,
  left: [],
};

function call(id: string, charged: number, more: Partial<VendorCall> = {}): VendorCall {
  return { id, node: 'n1', limit: 400, charged, from: 1000, to: 1500, ...more };
}

function historyOf(calls: VendorCall[], more: Partial<BudgetHistory> = {}): BudgetHistory {
  const holders = new Map(calls.map(({ id }) => [id, 'k']));
  return { ...emptyBudgetHistory(), calls, holders, ...more };
}

const CALLS = [call('a', 500), call('b', 400)];
const KILL = { node: 'n1', from: 1200, to: Infinity };
const probe = { holder: 'k', id: 'a', isGranted: true, rest: 460, limit: 400 };
const left = { owner: 'o', isRecovered: true, tokens: 500, counted: 20 };

const GOOD: Record<string, [Partial<StoredBudget>, BudgetHistory]> = {
  'usage that is what the provider charged': [{}, historyOf(CALLS, { probes: [probe] })],
  'a call in flight on a killed node that exceeds the budget, and is counted by an estimate': [
    { spent: 920, counted: 920, left: [left] },
    historyOf([...CALLS, call('c', 300)], { incidents: [KILL] }),
  ],
  'a refusal if there is no room for a small answer': [
    {},
    historyOf(CALLS, { probes: [{ ...probe, isGranted: false, rest: 30 }] }),
  ],
};

for (const [what, [stored, history]] of Object.entries(GOOD)) {
  test(`the checker accepts ${what}`, () => {
    assert.deepEqual(checkBudgets(history, [{ ...good, ...stored }], 1), []);
  });
}

const BAD: Record<string, [Partial<StoredBudget>, BudgetHistory]> = {
  'an exceeded budget': [
    { spent: 1200, counted: 1200 },
    historyOf([...CALLS, call('c', 300)], { incidents: [{ ...KILL, from: 9000 }] }),
  ],
  'usage that is not stored': [{ spent: 500, counted: 500 }, historyOf(CALLS)],
  'usage that is stored twice': [{ tokens: 2000, spent: 1300, counted: 1300 }, historyOf(CALLS)],
  'a counter that is not the sum of the usage': [{ counted: 500 }, historyOf(CALLS)],
  'a reservation that is never released': [
    { reserved: 500, left: [{ ...left, isRecovered: false }] },
    historyOf(CALLS, { incidents: [KILL] }),
  ],
  'a reservation that a living node left behind': [
    { spent: 920, counted: 920, left: [left] },
    historyOf([...CALLS, call('c', 100)]),
  ],
  'a refusal although the rest is large enough': [
    {},
    historyOf(CALLS, { probes: [{ ...probe, isGranted: false, rest: 100 }] }),
  ],
  'an answer that is shorter than the rest of the budget': [
    {},
    historyOf(CALLS, { probes: [{ ...probe, limit: 410 }] }),
  ],
};

for (const [what, [stored, history]] of Object.entries(BAD)) {
  test(`the checker finds ${what}`, () => {
    assert.notDeepEqual(checkBudgets(history, [{ ...good, ...stored }], 1), []);
  });
}
