/** What a client of a live session may do, as its calls carry it. */
import type { LiveClient, LiveRole } from '../../live/client/index.ts';
import { A2AError, type User } from '../../protocol/index.ts';

export const LIVE_ROLES: readonly LiveRole[] = ['view', 'prompt', 'approve'];

/** A client as its calls carry it. */
export interface LiveUser extends User {
  readonly id: '';
  /** Its id in the session. Unless told, `a2a`. */
  readonly client?: string;
  readonly name: string;
  readonly kind?: LiveClient['kind'];
  readonly roles: readonly LiveRole[];
}

/** What a user may do. Everything, where nothing is said of it. */
export function rolesOf(user: User | undefined): readonly LiveRole[] {
  const roles = user?.['roles'];
  if (!Array.isArray(roles)) return LIVE_ROLES;
  return LIVE_ROLES.filter((role) => role === 'view' || roles.includes(role));
}

export function requireRole(user: User | undefined, role: LiveRole): void {
  if (rolesOf(user).includes(role)) return;
  throw new A2AError('forbidden', `This client may not ${role} here`, { info: { role } });
}

/** Where the mode is for the person at the keyboard to set. */
export function requireTerminal(user: User | undefined): void {
  if (user?.['kind'] === 'terminal') return;
  throw new A2AError(
    'forbidden',
    'Only the terminal may set the mode here: it was started with --approval plan',
  );
}
