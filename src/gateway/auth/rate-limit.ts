/**
 * A rate limiter with one token bucket per name, in memory. A bucket holds at most `burst` requests and is refilled at
 * the rate `requestsPerMinute`. The number of buckets is limited. Above the limit, the least recently used bucket is
 * dropped, and the next request with its name gets a full bucket.
 */
import { A2AError } from '../../protocol/index.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { RateLimit } from '../keys/schema.ts';

const MAX_NAMES = 10_000;
const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  at: number;
}

export interface RateLimiter {
  /**
   * Takes one request from the bucket. If the bucket is empty, throws `rateLimited` with the number of seconds to wait.
   * The result is a promise if the buckets are in PostgreSQL.
   */
  take(name: string, limit: RateLimit): MaybePromise<void>;
}

/** Creates the error for a bucket with `left` requests. `left` is less than one. */
export function tooManyRequests(left: number, { requestsPerMinute }: RateLimit): A2AError {
  const waitMs = ((1 - left) * MINUTE_MS) / requestsPerMinute;
  return new A2AError('rateLimited', undefined, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });
}

/** Creates a rate limiter in memory. Its `take` never returns a promise. */
export function createRateLimiter({
  now = Date.now,
  maxNames = MAX_NAMES,
}: { readonly now?: () => number; readonly maxNames?: number } = {}) {
  const buckets = new BoundedMap<Bucket>(maxNames);

  return {
    take(name: string, limit: RateLimit): void {
      const { requestsPerMinute, burst = requestsPerMinute } = limit;
      const time = now();
      let bucket = buckets.get(name);
      if (!bucket) {
        bucket = { left: burst, at: time };
        buckets.set(name, bucket);
      }
      // If the clock was set back, nothing is refilled.
      const gained = (Math.max(0, time - bucket.at) * requestsPerMinute) / MINUTE_MS;
      bucket.left = Math.min(burst, bucket.left + gained);
      bucket.at = time;
      if (bucket.left < 1) throw tooManyRequests(bucket.left, limit);
      bucket.left -= 1;
    },
  };
}
