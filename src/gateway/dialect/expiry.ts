/**
 * Determines when a task expires: at `expiresAt` in the request's metadata, or after the lifetime in the configuration.
 */
import { A2AError, type Metadata } from '../../protocol/index.ts';

export interface ExpiryConfig {
  /** The lifetime of tasks without `expiresAt`. If undefined, only `maxTtlSeconds` applies. */
  readonly ttlSeconds?: number | undefined;
  /** The maximum lifetime of each task. If undefined, it is unlimited. */
  readonly maxTtlSeconds?: number | undefined;
}

/**
 * Matches an RFC 3339 time with a time zone. Other formats are refused, because Date.parse may interpret them as local
 * time.
 */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Returns the time of expiry in milliseconds, or undefined if the task never expires. Throws `invalidParams` if
 * `expiresAt` is invalid, in the past or too late.
 */
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
