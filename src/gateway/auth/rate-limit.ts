/**
 * Token buckets, in memory: each name has `burst` requests at once and gets `requestsPerMinute` back every minute.
 * There is room for so many names; whoever has been quiet longest is forgotten first, and starts with a full bucket.
 */
import { A2AError } from '../../protocol/index.ts';
import { BoundedMap } from '../../base/index.ts';
import type { RateLimit } from '../keys/schema.ts';

const MAX_NAMES = 10_000;
const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  at: number;
}

export interface RateLimiter {
  /** Takes one. Throws `rateLimited`, with the seconds until there is another. */
  take(name: string, limit: RateLimit): void;
}

export function createRateLimiter({
  now = Date.now,
  maxNames = MAX_NAMES,
}: { readonly now?: () => number; readonly maxNames?: number } = {}): RateLimiter {
  const buckets = new BoundedMap<Bucket>(maxNames);

  return {
    take(name, { requestsPerMinute, burst = requestsPerMinute }) {
      const time = now();
      let bucket = buckets.get(name);
      if (!bucket) {
        bucket = { left: burst, at: time };
        buckets.set(name, bucket);
      }
      // A clock that was set back gives nothing, and takes nothing.
      const gained = (Math.max(0, time - bucket.at) * requestsPerMinute) / MINUTE_MS;
      bucket.left = Math.min(burst, bucket.left + gained);
      bucket.at = time;
      if (bucket.left < 1) {
        const waitMs = ((1 - bucket.left) * MINUTE_MS) / requestsPerMinute;
        throw new A2AError('rateLimited', undefined, {
          retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
        });
      }
      bucket.left -= 1;
    },
  };
}
