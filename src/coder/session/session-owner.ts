/** Identifies the session of a conversation. */
import type { SessionKey } from '../../agent/index.ts';
import { userOf } from '../../bridge/index.ts';
import type { Call } from '../../protocol/index.ts';
import type { RequestContext } from '../../tasks/index.ts';
import { APP } from './workspace-agent.ts';

/** The user and the conversation of a session. */
export type SessionOwner = Pick<RequestContext, 'user' | 'tenant' | 'contextId'>;

/** Returns the owner of a session that a caller uses. */
export function sessionOwner<Id>({ user }: Call, contextId: Id) {
  return { user, tenant: user?.tenant ?? '', contextId };
}

/** Returns the key of the session in the store. */
export function sessionKey(owner: SessionOwner): SessionKey {
  return { app: APP, user: userOf(owner), id: owner.contextId };
}

/** Returns a string that identifies the session, for use as a key of a map. */
export function sessionName(owner: SessionOwner): string {
  return JSON.stringify([userOf(owner), owner.contextId]);
}
