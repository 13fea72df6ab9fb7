/** The scope and the protocol version of a call. */
import { A2AError, type Call, type ProtocolVersion } from '../protocol/index.ts';
import type { Scope } from './store/store.ts';

/**
 * The scope whose tasks a call may see. A user without a tenant may name one. A user with a tenant may not name another
 * one, whether it exists or not.
 */
export function scopeOf(call: Call, tenant: string | undefined): Scope {
  const own = call.user?.tenant;
  if (own !== undefined && tenant !== undefined && tenant !== own) throw new A2AError('forbidden');
  return { tenant: own ?? tenant ?? '', owner: call.user?.id ?? '' };
}

/** The protocol version for webhooks that this call sets. Calls within this process have no version of their own. */
export function wireOf({ version = '1.0' }: Call): ProtocolVersion {
  return version;
}
