/** Opens the session that the server of this page offers. */
import { joinLive } from '../../live/client/index.ts';
import { BASE, ownName } from './access.ts';
import { SessionStore } from './session-store.ts';

/** Reconnects without end: a phone may sleep for hours. */
const RETRY = { attempts: Infinity, delayMs: 250, maxDelayMs: 5000 };

/** Joins. Throws A2AError `unauthenticated` if the server wants another token. */
export async function openSession(token: string | undefined): Promise<SessionStore> {
  let store: SessionStore | undefined;
  const session = await joinLive(BASE, {
    token,
    name: ownName(),
    retry: RETRY,
    onConnection: (connected) => {
      if (store) store.connection.value = connected ? 'connected' : 'reconnecting';
    },
  });
  store = new SessionStore(session);
  void store.follow();
  return store;
}
