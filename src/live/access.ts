/**
 * Who may do what in a live session.
 *
 * Each token has a name and roles. All who are let in share the session, so none of them is a user of their own: their
 * id is empty, as that of whoever sits at the terminal, and what tells them apart are the fields beside it.
 */
import type { LiveRole } from './client/session.ts';
import { type LiveUser, requireMessageRoles, requirePromptRoles } from '../coder/index.ts';
import type { User } from '../protocol/index.ts';
import { guardHandler, type RequestHandler } from '../tasks/index.ts';
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

/** The handler for clients that call over HTTP, within their roles. */
export function guardRoles(handler: RequestHandler): RequestHandler {
  return guardHandler(handler, ({ access, on }, { message, metadata }, { user }) => {
    if (on === 'message' && message) requireMessageRoles(message, user);
    else if (access === 'write') requirePromptRoles(metadata, user);
  });
}
