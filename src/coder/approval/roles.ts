/** The roles of a live session's clients, and which role each message needs. */
import type { LiveClient, LiveRole } from '../../live/client/index.ts';
import { settingsIn } from '../../protocol/development-tool/index.ts';
import { A2AError, type Message, type Metadata, type User } from '../../protocol/index.ts';
import { confirmationsIn } from './answers.ts';

export const LIVE_ROLES: readonly LiveRole[] = ['view', 'prompt', 'approve'];

/** The user in the calls of a client. */
export interface LiveUser extends User {
  readonly id: '';
  /** The client's id in the session. Default: `a2a`. */
  readonly client?: string;
  readonly name: string;
  readonly kind?: LiveClient['kind'];
  readonly roles: readonly LiveRole[];
}

/** The roles of a user. A user without any declared roles has all of them. */
export function rolesOf(user: User | undefined): readonly LiveRole[] {
  const roles = user?.['roles'];
  if (!Array.isArray(roles)) return LIVE_ROLES;
  return LIVE_ROLES.filter((role) => role === 'view' || roles.includes(role));
}

export function requireRole(user: User | undefined, role: LiveRole): void {
  if (rolesOf(user).includes(role)) return;
  throw new A2AError('forbidden', `This client may not ${role} here`, { info: { role } });
}

/**
 * Throws unless the user may send this message. The coding agent checks words that answer a question itself, because
 * only it knows what the task waits for.
 */
export function requireMessageRoles(message: Message, user: User | undefined): void {
  const answers = confirmationsIn(message).length > 0;
  if (answers) requireRole(user, 'approve');
  // A confirmation that names no task would start one.
  if (!answers || message.taskId === undefined) requirePromptRoles(message.metadata, user);
  else requireSettingRoles(message.metadata, user);
}

/** Throws unless the user may prompt, with the settings in this metadata. */
export function requirePromptRoles(metadata: Metadata | undefined, user: User | undefined): void {
  requireRole(user, 'prompt');
  requireSettingRoles(metadata, user);
}

/** Automatic execution approves every tool call, so it needs the role for approving. */
function requireSettingRoles(metadata: Metadata | undefined, user: User | undefined): void {
  if (settingsIn(metadata)?.autoExecute) requireRole(user, 'approve');
}

/** Throws unless the user is at the terminal: with --approval plan only the terminal sets the mode. */
export function requireTerminal(user: User | undefined): void {
  if (user?.['kind'] === 'terminal') return;
  throw new A2AError(
    'forbidden',
    'Only the terminal may set the mode here: it was started with --approval plan',
  );
}
