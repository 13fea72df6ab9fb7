import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRegister } from '../register/sqlite-register.ts';
import { createSqliteBudgetStore } from './sqlite-store.ts';
import type { Booking } from './store.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const KEPT = 300;

function booking(n: number, keyId: string): Booking {
  return {
    workspace: 'w',
    keyId,
    subject: '',
    taskId: `task ${n}`,
    contextId: `context ${n}`,
    day: '2026-01-02',
    model: '',
    agent: 'a',
    currency: 'EUR',
    inputTokens: n,
    outputTokens: 2 * n,
    nanos: 3 * n,
    failed: n % 2 === 0,
  };
}

test('calls that are stored together keep a row each, and the oldest rows are removed', async () => {
  const register = openRegister(undefined, quiet);
  const store = createSqliteBudgetStore(register, KEPT);
  const keyOf = (n: number) => (n % 5 === 0 ? 'other' : 'usual');
  const settle = (from: number, to: number) => {
    const ns = Array.from({ length: to - from }, (_, at) => from + at);
    return store.settle(ns.map((n) => ({ booking: booking(n, keyOf(n)) })));
  };
  const rows = () => register.db.prepare('SELECT * FROM task_spending').all();
  await settle(1, 28);
  const found = rows().toSorted(
    (one, two) => Number(one['input_tokens']) - Number(two['input_tokens']),
  );
  assert.deepEqual(
    found.map((row) => [row['task_id'], row['context_id'], row['key_id'], row['failures']]),
    found.map((_, at) => [`task ${at + 1}`, `context ${at + 1}`, keyOf(at + 1), at % 2]),
  );
  assert.deepEqual(
    found.map((row) => [row['uses'], row['input_tokens'], row['output_tokens'], row['nanos']]),
    found.map((_, at) => [1, at + 1, 2 * (at + 1), 3 * (at + 1)]),
  );
  assert.equal(found.length, 27);
  assert.deepEqual(
    rows().map((row) => row['number']),
    found.map((_, at) => at + 1),
  );

  await settle(28, 1001);
  assert.ok(rows().length >= KEPT && rows().length < KEPT + 256, `${rows().length} rows`);
  assert.equal(rows().at(-1)?.['number'], 1000);
  register.close();
});
