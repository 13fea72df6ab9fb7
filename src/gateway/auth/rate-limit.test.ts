import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { createRateLimiter } from './rate-limit.ts';

/** Seconds to wait; 0: it passed. */
function wait(
  limiter: ReturnType<typeof createRateLimiter>,
  name: string,
  requestsPerMinute: number,
  burst?: number,
): number {
  try {
    limiter.take(name, { requestsPerMinute, ...(burst !== undefined && { burst }) });
    return 0;
  } catch (error) {
    assert.ok(error instanceof A2AError && error.kind === 'rateLimited');
    return error.detail.retryAfterSeconds ?? Number.NaN;
  }
}

test('a bucket has its burst at once, says how long to wait, and has one more then', () => {
  let time = 0;
  const limiter = createRateLimiter({ now: () => time });
  const waits = Array.from({ length: 4 }, () => wait(limiter, 'a', 12, 3));
  assert.deepEqual(waits, [0, 0, 0, 5]);
  time += 4999;
  assert.equal(wait(limiter, 'a', 12, 3), 1);
  time += 1;
  assert.equal(wait(limiter, 'a', 12, 3), 0);
  assert.equal(wait(limiter, 'a', 12, 3), 5);
  assert.equal(wait(limiter, 'b', 12, 3), 0);
});

test('a long rest fills the bucket to its burst and no further', () => {
  let time = 0;
  const limiter = createRateLimiter({ now: () => time });
  wait(limiter, 'a', 60, 2);
  time += 3_600_000;
  assert.deepEqual(
    [0, 0, 0].map(() => wait(limiter, 'a', 60, 2)),
    [0, 0, 1],
  );
});

test('a clock that goes back neither fills a bucket nor blocks it', () => {
  let time = 1e12;
  const limiter = createRateLimiter({ now: () => time });
  assert.deepEqual(
    [0, 0].map(() => wait(limiter, 'a', 60, 1)),
    [0, 1],
  );
  time -= 86_400_000;
  assert.equal(wait(limiter, 'a', 60, 1), 1);
  time += 1000;
  assert.equal(wait(limiter, 'a', 60, 1), 0);
});

test('the table is bounded: whoever was quiet longest is forgotten', () => {
  const limiter = createRateLimiter({ now: () => 0, maxNames: 2 });
  wait(limiter, 'a', 1, 1);
  wait(limiter, 'b', 1, 1);
  assert.equal(wait(limiter, 'a', 1, 1), 60);
  wait(limiter, 'c', 1, 1);
  assert.equal(wait(limiter, 'a', 1, 1), 60);
  assert.equal(wait(limiter, 'b', 1, 1), 0);
});
