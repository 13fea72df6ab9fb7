/** The scope and the protocol version of a call. */
import { A2AError, type Call, type ProtocolVersion } from '../protocol/index.ts';
import type { Scope } from './store/store.ts';

/**
 * Returns the scope whose tasks a call may use. A user without a tenant may specify any tenant. Throws `forbidden` if a
 * user with a tenant specifies another tenant, even if that tenant does not exist.
 */
export function scopeOf(call: Call, tenant: string | undefined): Scope {
  const own = call.user?.tenant;
  if (own !== undefined && tenant !== undefined && tenant !== own) throw new A2AError('forbidden');
  return { tenant: own ?? tenant ?? '', owner: call.user?.id ?? '' };
}

/** Returns the protocol version of a call. Calls within this process have no version and count as 1.0. */
export function wireOf({ version = '1.0' }: Call): ProtocolVersion {
  return version;
}
