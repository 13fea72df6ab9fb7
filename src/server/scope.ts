/** Whose tasks a call may see. */
import { A2AError, type Call } from '../protocol/index.ts';
import type { Scope } from './store.ts';

/**
 * The user's own, in the user's tenant. A user without a tenant may name one; a user with one may name no other: that
 * is refused whether or not the other exists.
 */
export function scopeOf(call: Call, tenant: string | undefined): Scope {
  const own = call.user?.tenant;
  if (own !== undefined && tenant !== undefined && tenant !== own) throw new A2AError('forbidden');
  return { tenant: own ?? tenant ?? '', owner: call.user?.id ?? '' };
}
