import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { A2AError } from '../../protocol/index.ts';
import { periodAt } from './budget.ts';
import { type Counter, grantOf, type Limit, NANOS, type Need } from './grant.ts';
import { refused } from './refusal.ts';

const NOW = Date.parse('2026-11-16T17:00:00Z');
const unused: Counter = { calls: 0, tokens: 0, nanos: 0, reservedTokens: 0, reservedNanos: 0 };
/** A short prompt to a model without a price. */
const hello: Need = {
  inputTokens: 14,
  inputNanos: 0,
  outputPrice: 0,
  currency: '',
  maxOutputTokens: undefined,
};

/** Returns the error for a call that a budget of a key refuses. */
function refusalOf(
  need: Partial<Need>,
  fields: Partial<Limit>,
  counter: Partial<Counter> = {},
): A2AError {
  const every = fields.every ?? 'month';
  const limit: Limit = {
    holder: { kind: 'key', workspace: 'default', id: 'k' },
    every,
    period: periodAt(every, NOW),
    currency: '',
    ...fields,
  };
  const needed = { ...hello, ...need };
  const outcome = grantOf(needed, [{ limit, counter: { ...unused, ...counter } }]);
  assert.ok(!outcome.granted);
  const planned = {
    id: 'r',
    workspace: 'default',
    keyId: 'k',
    subject: '',
    taskId: '',
    contextId: '',
    day: '2026-11-16',
    model: 'm',
    agent: '',
    expiresAt: NOW,
    need: needed,
    limits: [limit],
  };
  return refused(outcome, planned, NOW);
}

const messageOf = (...args: Parameters<typeof refusalOf>) => refusalOf(...args).message;

const RENEWED = 'wait until the budget is renewed (2026-12-01 00:00 UTC)';

test('a budget with too few tokens says how many are left and how many the request needs', () => {
  assert.equal(
    messageOf({}, { tokens: 100 }, { tokens: 72 }),
    `The budget of this key has 28 tokens left for this month, but the request needs about 30 (14 for the prompt and at least 16 for the answer): send a shorter request, ${RENEWED}, or ask for a larger budget`,
  );
  assert.equal(
    messageOf({ inputTokens: 500, maxOutputTokens: 0 }, { tokens: 100, every: 'total' }),
    'The budget of this key has 100 tokens left, but the request needs about 500: send a shorter request or ask for a larger budget',
  );
});

test('waiting is not advised if the request does not fit into the whole budget', () => {
  const error = refusalOf({}, { tokens: 28 });
  assert.equal(
    error.message,
    'The budget of this key has 28 tokens left for this month, but the request needs about 30 (14 for the prompt and at least 16 for the answer): send a shorter request or ask for a larger budget',
  );
  assert.equal(error.detail.retryAfterSeconds, undefined);
});

test('a shorter request is not advised if no request is short enough', () => {
  assert.equal(
    messageOf({}, { tokens: 100 }, { tokens: 90 }),
    `The budget of this key has 10 tokens left for this month, but the request needs about 30 (14 for the prompt and at least 16 for the answer): ${RENEWED} or ask for a larger budget`,
  );
});

test('a budget in money says how much is left and how much the request needs', () => {
  const price = { currency: 'EUR', inputNanos: 0.0014 * NANOS, outputPrice: 0.0002 * NANOS };
  const limit = { currency: 'EUR', nanos: 2 * NANOS, tokens: 1000 };
  assert.equal(
    messageOf(price, limit, { nanos: 1.996 * NANOS }),
    `The budget of this key has 0.004 EUR left for this month, but the request needs about 0.0046 EUR (0.0014 EUR for the prompt and at least 0.0032 EUR for the answer): send a shorter request, ${RENEWED}, or ask for a larger budget`,
  );
});

test('a budget is called used up only if nothing is left of it', () => {
  const usedUp = `The budget of this key is used up for this month: ${RENEWED} or ask for a larger budget`;
  assert.equal(messageOf({}, { tokens: 100 }, { tokens: 100 }), usedUp);
  assert.equal(messageOf({}, { tokens: 100 }, { tokens: 120 }), usedUp);
  assert.equal(messageOf({}, { currency: 'EUR', nanos: 5 }, { nanos: 5 }), usedUp);
});

test('the budget of a task advises a new task', () => {
  const holder = { kind: 'task', workspace: 'default', id: 't' } as const;
  assert.equal(
    messageOf({}, { holder, every: 'total', tokens: 20 }, { tokens: 20 }),
    'The budget of this task is used up: start a new task',
  );
});
