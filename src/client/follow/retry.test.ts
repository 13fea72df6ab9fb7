import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { TaskFollower } from './follower.ts';
import { retryDelay } from './retry.ts';

const busy = (retryAfterSeconds: number) =>
  new A2AError('unavailable', 'busy', { retryAfterSeconds });

test('the delay is at least the one that the agent requests, and at most a minute', () => {
  const retry = { delayMs: 10, maxDelayMs: 100 };
  assert.equal(retryDelay(1, retry, busy(7)), 7000);
  assert.equal(retryDelay(1, retry, busy(60)), 60_000);
  assert.equal(retryDelay(1, retry, busy(61)), 60_000);
  for (const error of [undefined, busy(0), new Error('broken')]) {
    assert.ok(retryDelay(9, retry, error) <= 100);
  }
});

test('a stream is resumed only after the time that an overloaded agent requests', async () => {
  const leaving = new AbortController();
  const unused = () => assert.fail('not expected');
  const delays: number[] = [];
  const follower = new TaskFollower({
    service: {
      sendMessage: unused,
      streamMessage: unused,
      getTask: unused,
      subscribe: async () => {
        throw busy(30);
      },
    },
    call: {},
    signal: leaving.signal,
    streams: true,
    from: { taskId: 't1', after: 3 },
    retry: {
      delayMs: 1,
      onRetry(_attempt, delayMs) {
        delays.push(delayMs);
        leaving.abort();
      },
    },
  });
  await assert.rejects(follower.next(), { name: 'AbortError' });
  assert.deepEqual(delays, [30_000]);
});
