/**
 * Cancels a run that waits or was aborted. The cancellation is stored as an event. So the run accepts no more answers,
 * and later requests tell the model that the user's request was canceled. Otherwise a model would treat the unanswered
 * request as still open.
 */
import type { Agent } from '../agent.ts';
import { CANCELED_REQUEST } from '../canceled-run.ts';
import { userContent } from '../content.ts';
import { createEvent } from '../event.ts';
import { loadedRun, openRun } from './open-run.ts';
import { requireRun } from './run-index.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import type { AgentTree } from './tree.ts';

const CANCELED = userContent(CANCELED_REQUEST);
const ERROR = { code: 'canceled', message: 'the run was canceled' };

/** Cancels a run. If the run is active, this waits until it ends, so the caller should abort it first. */
export async function cancelRun(
  { agents }: AgentTree,
  sessions: SessionStore,
  key: SessionKey,
  runId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  using opened = await openRun(sessions, key, runId, { signal });
  const { index } = loadedRun(opened);
  const { events } = requireRun(opened.session, index, key);
  if (index.failed) return;
  const event = createEvent({ runId, author: 'user' }, { content: CANCELED, error: ERROR });
  await sessions.append(key, [event]);
  const run = { runId, session: key, events, sessions, signal };
  const tell = async (agent: Agent) => agent.cancel?.(run);
  await Promise.allSettled([...agents].map(tell));
}
