import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { rest } from './wait.ts';

test('a rest ends after its time, or when its signal is aborted', { timeout: 5000 }, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { signal } = new AbortController();
  const whole = rest(1000, signal);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  t.mock.timers.tick(1000);
  await whole;
  assert.equal(getEventListeners(signal, 'abort').length, 0);

  const stopping = new AbortController();
  const stopped = rest(1000, stopping.signal);
  stopping.abort();
  await stopped;
  await rest(1000, stopping.signal);
});

test('a rest does not keep the process alive', () => {
  const before = timers();
  void rest(60_000);
  assert.equal(timers(), before);
});

/** Returns the number of timers that keep the process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
