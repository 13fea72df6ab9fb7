import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flushAtEndOfTurn, flushLastInTurn } from './end-of-turn.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('the last flush of a turn comes after the work that the other flushes cause, whatever was scheduled first', async () => {
  const done: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  flushLastInTurn({ flush: () => done.push('last') });
  flushAtEndOfTurn({ flush: () => (done.push('first'), resolve()) });
  void promise.then(() => Promise.resolve()).then(() => done.push('caused'));
  await nextTurn();
  assert.deepEqual(done, ['first', 'caused', 'last']);
});

test('what is scheduled during a flush is flushed in the next turn', async () => {
  const done: string[] = [];
  const again = { flush: () => done.push('again') };
  flushAtEndOfTurn({ flush: () => flushAtEndOfTurn(again) });
  flushLastInTurn({ flush: () => flushLastInTurn(again) });
  await nextTurn();
  assert.deepEqual(done, []);
  await nextTurn();
  assert.deepEqual(done, ['again', 'again']);
});
