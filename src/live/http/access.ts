/**
 * Authentication and roles of a live session.
 *
 * Each token has a name and roles. All clients share the session, so they have the same, empty user id, like the client
 * at the terminal. The fields `name` and `roles` distinguish them.
 */
import type { LiveRole } from '../client/session.ts';
import { type LiveUser, requirePromptRoles } from '../../coder/index.ts';
import type { User } from '../../protocol/index.ts';
import { guardHandler, type RequestHandler } from '../../tasks/index.ts';
import { bearerOf, sameSecret, type Authenticate } from '../../http/index.ts';

export interface LiveToken {
  readonly name: string;
  /** The roles of the client, in addition to `view`, which every client has. */
  readonly roles: readonly LiveRole[];
  readonly token: string;
}

/** Authenticates clients by one of the bearer tokens. */
export function liveAuthentication(tokens: readonly LiveToken[]): Authenticate {
  const known = tokens.map(({ token, name, roles }) => ({
    token,
    user: { id: '', name, roles } satisfies LiveUser,
  }));
  return ({ header }) => {
    const given = bearerOf(header('authorization'));
    if (given === undefined) return undefined;
    let found: User | undefined;
    // Compares all tokens, so that the timing does not reveal which token matched.
    for (const { token, user } of known) if (sameSecret(given, token)) found = user;
    return found;
  };
}

/** Wraps the handler for clients that call over HTTP, so that clients without the role `prompt` can only read. */
export function guardRoles(handler: RequestHandler): RequestHandler {
  return guardHandler(handler, ({ access }, { metadata }, { user }) => {
    if (access === 'write') requirePromptRoles(metadata, user);
  });
}
