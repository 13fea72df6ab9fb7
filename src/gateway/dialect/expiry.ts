/** When a task expires: as its client asks in the metadata, else as the configuration says. */
import { A2AError, type Metadata } from '../../protocol/index.ts';

export interface ExpiryConfig {
  /** For tasks that ask for nothing. Absent: they do not expire. */
  readonly ttlSeconds?: number | undefined;
  /** The longest that a client may ask for. */
  readonly maxTtlSeconds?: number | undefined;
}

/** An RFC 3339 time with its zone: what Date.parse makes of anything else depends on where it runs. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** In milliseconds; undefined: never. Throws `invalidParams` on a time that is none, over, or too far away. */
export function expiryOf(
  metadata: Metadata | undefined,
  config: ExpiryConfig,
  now: number,
): number | undefined {
  const { ttlSeconds, maxTtlSeconds = Number.POSITIVE_INFINITY } = config;
  const asked = metadata?.['expiresAt'];
  if (asked === undefined) {
    // An operator who limits what clients ask for limits those who do not ask, too.
    const seconds = Math.min(ttlSeconds ?? Number.POSITIVE_INFINITY, maxTtlSeconds);
    return Number.isFinite(seconds) ? now + seconds * 1000 : undefined;
  }
  const at = typeof asked === 'string' && TIME.test(asked) ? Date.parse(asked) : Number.NaN;
  if (Number.isNaN(at)) refuse('not a time such as 2026-01-31T12:00:00Z');
  if (at <= now) refuse('it is over already');
  if (at > now + maxTtlSeconds * 1000) refuse(`at most ${maxTtlSeconds} seconds from now`);
  return at;
}

function refuse(why: string): never {
  throw new A2AError('invalidParams', `expiresAt: ${why}`);
}
