/** When a task expires: by `expiresAt` in the request's metadata, else by the configuration. */
import { A2AError, type Metadata } from '../../protocol/index.ts';

export interface ExpiryConfig {
  /** For tasks without `expiresAt`. Absent: they do not expire. */
  readonly ttlSeconds?: number | undefined;
  /** The longest lifetime that a client may ask for. */
  readonly maxTtlSeconds?: number | undefined;
}

/** An RFC 3339 time with a time zone. Date.parse reads other formats in the machine's local time. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** The time in milliseconds. Undefined: never. Throws `invalidParams` if the time is invalid, past or too late. */
export function expiryOf(
  metadata: Metadata | undefined,
  config: ExpiryConfig,
  now: number,
): number | undefined {
  const { ttlSeconds, maxTtlSeconds = Number.POSITIVE_INFINITY } = config;
  const requested = metadata?.['expiresAt'];
  if (requested === undefined) {
    // The maximum also applies to tasks without `expiresAt`.
    const seconds = Math.min(ttlSeconds ?? Number.POSITIVE_INFINITY, maxTtlSeconds);
    return Number.isFinite(seconds) ? now + seconds * 1000 : undefined;
  }
  const at =
    typeof requested === 'string' && TIME.test(requested) ? Date.parse(requested) : Number.NaN;
  if (Number.isNaN(at)) refuse('must be a time such as 2026-01-31T12:00:00Z');
  if (at <= now) refuse('must be in the future');
  if (at > now + maxTtlSeconds * 1000) refuse(`must be at most ${maxTtlSeconds} seconds from now`);
  return at;
}

function refuse(why: string): never {
  throw new A2AError('invalidParams', `expiresAt: ${why}`);
}
