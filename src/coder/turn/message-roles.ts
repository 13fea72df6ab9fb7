/**
 * Decides which roles a message requires. All APIs use this module. The executor calls it for every message, and a live
 * session calls it before it queues a prompt.
 *
 *   an answer to a call (a confirmation)                                  approve
 *   an answer in words, to a task that waits                              approve
 *   a built-in command, to a task that waits                              prompt and approve
 *   a built-in command that changes something outside the conversation    prompt and approve
 *   settings with autoExecute, which approve every call                   prompt and approve
 *   any other message                                                     prompt
 */
import { A2AError, type Message, type User } from '../../protocol/index.ts';
import { confirmationsIn } from '../approval/answers.ts';
import { requirePromptRoles, requireRole, requireSettingRoles } from '../approval/roles.ts';
import { approvalCommand } from '../commands/approval.ts';
import { builtInCommand, changingCommand } from '../commands/registry.ts';

export interface MessageRules {
  /** Which approval modes only the terminal may set: `none` of them, only `yolo`, or `all`. */
  readonly terminalModes: 'none' | 'yolo' | 'all';
}

/**
 * Throws if the user may not send this message. `isWaiting` is true if the message is for a task that waits for an
 * answer.
 */
export function requireMessageRoles(
  message: Message,
  user: User | undefined,
  { terminalModes }: MessageRules,
  isWaiting = false,
): void {
  const confirms = confirmationsIn(message).length > 0;
  if (confirms || isWaiting) {
    requireRole(user, 'approve');
    requireSettingRoles(message.metadata, user);
  }
  const isAnswer = confirms || (isWaiting && !builtInCommand(message));
  if (!isAnswer) requirePromptRoles(message.metadata, user);
  const changes = changingCommand(message);
  if (!changes) return;
  requireRole(user, 'prompt');
  requireRole(user, 'approve');
  if (changes.command === approvalCommand) requireTerminal(user, changes.args, terminalModes);
}

/** Throws if only the person at the terminal may set this mode, and the user is another client. */
function requireTerminal(
  user: User | undefined,
  mode: string,
  terminalModes: MessageRules['terminalModes'],
): void {
  if (user?.['kind'] === 'terminal' || terminalModes === 'none') return;
  if (terminalModes === 'all') {
    const why = 'because the session was started with --approval plan';
    throw new A2AError('forbidden', `Only the terminal may set the mode, ${why}`);
  }
  if (mode === 'yolo') throw new A2AError('forbidden', 'Only the terminal may set the mode yolo');
}
