/** Opens the session that the server of this page offers. */
import { joinLive } from '../../live/client/index.ts';
import { BASE, ownName } from './access.ts';
import { PageSession } from './page-session.ts';

/** Reconnects without end: a phone may sleep for hours. */
const RETRY = { attempts: Infinity, delayMs: 250, maxDelayMs: 5000 };

/** Joins. Throws A2AError `unauthenticated` if the server wants another token. */
export async function openSession(token: string | undefined): Promise<PageSession> {
  const opened: { store?: PageSession } = {};
  const session = await joinLive(BASE, {
    token,
    name: ownName(),
    retry: RETRY,
    onConnection: (connected) => {
      const { store } = opened;
      if (store) store.connection.value = connected ? 'connected' : 'reconnecting';
    },
  });
  const store = new PageSession(session);
  opened.store = store;
  void store.follow();
  return store;
}
