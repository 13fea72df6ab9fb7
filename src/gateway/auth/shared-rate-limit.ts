/**
 * A rate limiter with its buckets in PostgreSQL, so that a limit applies to all gateways (nodes) together. The buckets
 * are refilled on the database's clock.
 *
 * Only one statement is in progress at a time. Requests that arrive during this statement wait for the next one, which
 * updates each bucket once for all of them. So a busy key needs fewer updates than requests.
 */
import { jsonRows } from '../register/postgres-statement.ts';
import { type Register, statement } from '../register/register.ts';
import type { RateLimit } from '../keys/schema.ts';
import { type RateLimiter, tooManyRequests } from './rate-limit.ts';

/** The content of a bucket before requests are taken from it. If the clock was set back, nothing is refilled. */
const FILLED = `least(excluded.burst, rate_buckets.remaining +
  greatest(0, extract(epoch FROM excluded.at - rate_buckets.at)) * excluded.rate / 60)`;
const TAKE = statement(`
  INSERT INTO rate_buckets (name, remaining, at, taken, burst, rate, wanted)
  SELECT name, burst - least(wanted, floor(burst)), clock_timestamp(), least(wanted, floor(burst)), burst, rate, wanted
  FROM json_to_recordset($rows::json) AS given
    (name text, wanted double precision, burst double precision, rate double precision)
  ORDER BY name
  ON CONFLICT (name) DO UPDATE SET
    remaining = ${FILLED} - least(excluded.wanted, floor(${FILLED})),
    taken = least(excluded.wanted, floor(${FILLED})),
    at = excluded.at, burst = excluded.burst, rate = excluded.rate, wanted = excluded.wanted
  RETURNING name, remaining, taken`);

/** Maximum number of buckets in one statement. */
const MAX_BUCKETS = 1000;

interface Waiting {
  readonly limit: RateLimit;
  readonly requests: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
}

export function createSharedRateLimiter(register: Register): RateLimiter {
  let waiting = new Map<string, Waiting>();
  let running = false;

  async function take(batch: ReadonlyMap<string, Waiting>): Promise<void> {
    const rows = [...batch].map(([name, { limit, requests }]) => ({
      name,
      wanted: requests.length,
      burst: limit.burst ?? limit.requestsPerMinute,
      rate: limit.requestsPerMinute,
    }));
    const found = await register.read(() => TAKE.all({ rows: jsonRows(rows) }));
    for (const { name, remaining, taken } of found) {
      const { limit, requests } = batch.get(String(name))!;
      const granted = Number(taken);
      for (const [at, { resolve, reject }] of requests.entries()) {
        if (at < granted) resolve();
        else reject(tooManyRequests(Number(remaining), limit));
      }
    }
  }

  async function takeWaiting(): Promise<void> {
    while (waiting.size > 0) {
      const all = [...waiting];
      const batch = new Map(all.slice(0, MAX_BUCKETS));
      waiting = new Map(all.slice(MAX_BUCKETS));
      try {
        await take(batch);
      } catch (error) {
        for (const { requests } of batch.values()) {
          for (const { reject } of requests) reject(error);
        }
      }
    }
    running = false;
  }

  return {
    take: (name, limit) =>
      new Promise((resolve, reject) => {
        const known = waiting.get(name);
        if (known) known.requests.push({ resolve, reject });
        else waiting.set(name, { limit, requests: [{ resolve, reject }] });
        if (running) return;
        running = true;
        setImmediate(() => void takeWaiting());
      }),
  };
}
