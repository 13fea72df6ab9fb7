/** Opens the session that the server of this page offers: its live session, or a conversation with its agent. */
import { joinLive, type LiveSession } from '../../../live/client/index.ts';
import { BASE, SERVER_KIND, ownName, remembered } from '../server/access.ts';
import { openAgentSession } from './agent-session.ts';
import { PageSession } from './page-session.ts';

/** The number of attempts is unlimited, because a phone may sleep for hours. */
const RETRY = { attempts: Infinity, delayMs: 250, maxDelayMs: 5000 };

/** Number of messages that are loaded first. A longer session would take seconds to load. */
const FIRST_MESSAGES = 2000;

/**
 * Opens the session. For a live session, loads only the newest FIRST_MESSAGES messages, unless `seen` is given. If
 * `seen` is given, loads all messages. `seen` is the number of entries that the page had already shown when it
 * requested all messages. Throws A2AError `unauthenticated` if the server requires another token.
 */
export async function openSession(token: string | undefined, seen?: number): Promise<PageSession> {
  const opened: { store?: PageSession } = {};
  const onConnection = (connected: boolean) => {
    const { store } = opened;
    if (store) store.connection.value = connected ? 'connected' : 'reconnecting';
  };
  const name = ownName();
  const session: LiveSession =
    SERVER_KIND === 'live'
      ? await joinLive(BASE, {
          token,
          name,
          retry: RETRY,
          onConnection,
          history: seen === undefined ? FIRST_MESSAGES : undefined,
        })
      : await openAgentSession(BASE, {
          token,
          name,
          taskId: remembered('task').value,
          onTask: (taskId) => (remembered('task').value = taskId),
        });
  return (opened.store = new PageSession(session, seen));
}
