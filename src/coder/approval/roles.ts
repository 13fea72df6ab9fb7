/** The roles of the clients of a live session. turn/message-roles.ts decides which roles a message requires. */
import type { LiveClient, LiveRole } from '../../live/client/index.ts';
import { LIVE_ROLES, withView } from '../../live/client/roles/index.ts';
import { settingsIn } from '../../protocol/development-tool/index.ts';
import { A2AError, type Metadata, type User } from '../../protocol/index.ts';

/** The user in a request from a client of a live session. */
export interface LiveUser extends User {
  readonly id: '';
  /** The client's id in the session. Default: `a2a`. */
  readonly client?: string;
  readonly name: string;
  readonly kind?: LiveClient['kind'];
  readonly roles: readonly LiveRole[];
  /** The id of the client's token. */
  readonly token?: string;
  /** The id of the client's editor (session/editors.ts). */
  readonly editor?: string;
}

/** Returns the roles of a user. A user without declared roles has all roles. */
export function rolesOf(user: User | undefined): readonly LiveRole[] {
  const roles = user?.['roles'];
  if (!Array.isArray(roles)) return LIVE_ROLES;
  return withView(roles);
}

export function requireRole(user: User | undefined, role: LiveRole): void {
  if (rolesOf(user).includes(role)) return;
  throw new A2AError('forbidden', `This client does not have the role "${role}"`, {
    info: { role },
  });
}

/** Throws if the user may not send a prompt with the settings in this metadata. */
export function requirePromptRoles(metadata: Metadata | undefined, user: User | undefined): void {
  requireRole(user, 'prompt');
  requireSettingRoles(metadata, user);
}

/**
 * Throws if the user may not use these settings. `autoExecute` selects the mode `yolo`, so it requires the role
 * `approve`.
 */
export function requireSettingRoles(metadata: Metadata | undefined, user: User | undefined): void {
  if (settingsIn(metadata)?.autoExecute) requireRole(user, 'approve');
}
