/**
 * Who may do what in a live session.
 *
 * Each token has a name and roles. All who are let in share the session, so none of them is a user of their own: their
 * id is empty, as that of whoever sits at the terminal, and what tells them apart are the fields beside it.
 */
import type { LiveRole } from './client/session.ts';
import { requireRole, type LiveUser, confirmationsIn } from '../coder/index.ts';
import { settingsIn } from '../protocol/development-tool/index.ts';
import { type Call, type MessageSendParams, type Metadata, type User } from '../protocol/index.ts';
import type { RequestHandler } from '../tasks/index.ts';
import { sameSecret, type Authenticate } from '../http/index.ts';

export interface LiveToken {
  readonly name: string;
  /** Everybody may view. */
  readonly roles: readonly LiveRole[];
  readonly token: string;
}

/** Lets in whoever has one of the tokens, as a bearer token. */
export function liveAuthentication(tokens: readonly LiveToken[]): Authenticate {
  const known = tokens.map(({ token, name, roles }) => ({
    token,
    user: { id: '', name, roles } satisfies LiveUser,
  }));
  return ({ header }) => {
    const [scheme, given] = (header('authorization') ?? '').split(' ', 2);
    if (scheme?.toLowerCase() !== 'bearer' || !given) return undefined;
    let found: User | undefined;
    // All are compared, so that the time does not tell which one matched.
    for (const { token, user } of known) if (sameSecret(given, token)) found = user;
    return found;
  };
}

/** The handler for those who call over HTTP, within their roles. */
export function guardRoles(handler: RequestHandler): RequestHandler {
  const mayPrompt = (call: Call | undefined) => requireRole(call?.user, 'prompt');

  /** To turn the questions off is to answer them all. */
  function maySettle(metadata: Metadata | undefined, call: Call | undefined): void {
    if (settingsIn(metadata)?.autoExecute) requireRole(call?.user, 'approve');
  }

  /** Words that answer a call are the agent's to refuse: it alone knows what a task waits for. */
  function maySay({ message }: MessageSendParams, call: Call | undefined): void {
    const answers = confirmationsIn(message).length > 0;
    if (answers) requireRole(call?.user, 'approve');
    // An answer is to a task that asks; without one it would begin a task of its own.
    if (!answers || message.taskId === undefined) mayPrompt(call);
    maySettle(message.metadata, call);
  }

  return {
    ...handler,
    get running() {
      return handler.running;
    },
    async sendMessage(params, call) {
      maySay(params, call);
      return handler.sendMessage(params, call);
    },
    async streamMessage(params, call, seen) {
      maySay(params, call);
      return handler.streamMessage(params, call, seen);
    },
    async reserveTask(params, call) {
      mayPrompt(call);
      maySettle(params.metadata, call);
      return handler.reserveTask(params, call);
    },
    async cancelTask(params, call) {
      mayPrompt(call);
      return handler.cancelTask(params, call);
    },
    async setPushConfig(params, call) {
      mayPrompt(call);
      return handler.setPushConfig(params, call);
    },
    async deletePushConfig(params, call) {
      mayPrompt(call);
      return handler.deletePushConfig(params, call);
    },
  };
}
