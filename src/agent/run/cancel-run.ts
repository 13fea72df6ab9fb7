/**
 * Ends a run that waits or was aborted, for good. The log says so: no answer is taken any more, and later prompts know
 * that the request was canceled, because one without an answer looks as if it still had to be done.
 */
import type { Agent } from '../agent.ts';
import { CANCELED_REQUEST } from '../canceled-run.ts';
import { userContent } from '../content.ts';
import { createEvent } from '../event.ts';
import { openRun } from './open-run.ts';
import { checkKnown, existing } from './run-index.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import type { AgentTree } from './tree.ts';

const CANCELED = userContent(CANCELED_REQUEST);
const ERROR = { code: 'canceled', message: 'the run was canceled' };

/** Waits for a run that goes on: whoever cancels it aborts it first. */
export async function cancelRun(
  { agents }: AgentTree,
  sessions: SessionStore,
  key: SessionKey,
  runId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  using opened = await openRun(sessions, key, runId, { signal });
  const { events } = existing(opened.session, key);
  checkKnown(opened.index, key);
  if (opened.index.failed) return;
  const event = createEvent({ runId, author: 'user' }, { content: CANCELED, error: ERROR });
  await sessions.append(key, [event]);
  const run = { runId, session: key, events, sessions, signal };
  const tell = async (agent: Agent) => agent.cancel?.(run);
  await Promise.allSettled([...agents].map(tell));
}
