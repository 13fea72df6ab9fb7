import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settlement } from './store.ts';
import { UnstoredUsage } from './unstored-usage.ts';

const booking = {
  workspace: 'w',
  keyId: 'k',
  subject: '',
  taskId: 't',
  contextId: 'c',
  day: '2026-11-16',
  model: 'm',
  agent: '',
  failed: false,
  currency: '',
  inputTokens: 1,
  outputTokens: 1,
  nanos: 0,
};

function setup() {
  const stored: number[] = [];
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const usage = new UnstoredUsage({
    settle(settlements: readonly Settlement[]) {
      stored.push(settlements.length);
    },
    firstRetryMs: 100,
    logger: quiet,
    now: Date.now,
  });
  return { usage, stored };
}

const turn = () => new Promise(setImmediate);

test('calls without a budget are stored together with later calls, at the latest after a moment', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { usage, stored } = setup();
  for (let calls = 0; calls < 3; calls++) {
    usage.add({ booking });
    await turn();
  }
  assert.deepEqual(stored, []);
  t.mock.timers.tick(50);
  await turn();
  assert.deepEqual(stored, [3]);
  for (let calls = 0; calls < 256; calls++) usage.add({ booking });
  await turn();
  assert.deepEqual(stored, [3, 256]);
});

test('a call with a reservation is stored at once, with the calls before it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { usage, stored } = setup();
  usage.add({ booking });
  await turn();
  usage.add({ id: 'r', booking });
  await turn();
  assert.deepEqual(stored, [2]);
});

test('the last calls are stored when the gateway closes', async () => {
  const { usage, stored } = setup();
  usage.add({ booking });
  await usage.close();
  assert.deepEqual(stored, [1]);
});
