/** What a call says of itself: whose tasks it may see, and on which wire it came. */
import { A2AError, type Call, type ProtocolVersion } from '../protocol/index.ts';
import type { Scope } from './store/store.ts';

/**
 * The user's own, in the user's tenant. A user without a tenant may name one; a user with one may name no other: that
 * is refused whether or not the other exists.
 */
export function scopeOf(call: Call, tenant: string | undefined): Scope {
  const own = call.user?.tenant;
  if (own !== undefined && tenant !== undefined && tenant !== own) throw new A2AError('forbidden');
  return { tenant: own ?? tenant ?? '', owner: call.user?.id ?? '' };
}

/** The tag of the wire that webhooks of this call are sent on. A call from inside has none. */
export function wireOf({ version = '1.0' }: Call): ProtocolVersion {
  return version;
}
