import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lifetime } from './request.ts';

const idle = new Error('idle');
const total = new Error('total');

function lifetimeOf(idleMs: number, totalMs: number): Lifetime {
  const lifetime = new Lifetime();
  lifetime.idleTimeout(idleMs, () => idle);
  lifetime.totalTimeout(totalMs, () => total);
  return lifetime;
}

async function reasonOf({ signal }: Lifetime): Promise<unknown> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  return signal.reason;
}

test('a lifetime with an idle timeout and a longer total timeout sets one timer', (t) => {
  const set = t.mock.method(globalThis, 'setTimeout');
  lifetimeOf(60_000, 120_000).release();
  assert.equal(set.mock.callCount(), 1);
});

test('a lifetime ends with the reason of the timeout that comes first', async () => {
  assert.equal(await reasonOf(lifetimeOf(5, 60_000)), idle);
  assert.equal(await reasonOf(lifetimeOf(60_000, 5)), total);
});

test('a lifetime whose idle time is stopped ends with its total timeout', async () => {
  const stopped = lifetimeOf(5, 30);
  stopped.wait(false);
  assert.equal(await reasonOf(stopped), total);
});

test('an idle timeout that is replaced by a longer or by none ends later, or not at all', async () => {
  const longer = lifetimeOf(2, 60_000);
  const second = new Error('second');
  longer.idleTimeout(20, () => second);
  assert.equal(await reasonOf(longer), second);
  const none = lifetimeOf(2, 30);
  none.idleTimeout(0, () => idle);
  assert.equal(await reasonOf(none), total);
  none.release();
});
