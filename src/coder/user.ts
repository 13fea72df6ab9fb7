/** Whose session it is: the authenticated user, in its tenant. */
import type { User } from '../protocol/index.ts';

const ANONYMOUS = 'anonymous';

/** The same id in another tenant is another user; no id makes anybody somebody else. */
export function userOf(user: User | undefined): string {
  if (!user) return ANONYMOUS;
  const { id, tenant } = user;
  if (tenant) return `${encodeURIComponent(tenant)}/${id}`;
  return id === ANONYMOUS || id.includes('/') ? `/${id}` : id;
}
