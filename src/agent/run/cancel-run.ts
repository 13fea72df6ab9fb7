/**
 * Ends a run that waits, was aborted, or was active when its process ended. Every open call gets a response, and the
 * end is stored as an event. So the run accepts no more answers. In later requests, the model sees that the user's
 * request is no longer open, and how its calls ended.
 */
import type { Agent } from '../agent.ts';
import { CANCELED_REQUEST, STOPPED_BY_USER } from '../canceled-run.ts';
import { userContent, type ContentPart } from '../content.ts';
import { workFor } from '../delegated.ts';
import { createEvent, type Answer, type EventError } from '../event.ts';
import { loadedRun, openRun, type OpenRun } from './open-run.ts';
import { requireRun } from './run-index.ts';
import type { SessionKey, SessionStore, State } from '../session.ts';
import { endedCall, isUnknown, outcomeUnknown, stopped } from './stopped-calls.ts';
import type { AgentTree } from './tree.ts';

const CANCELED = userContent(CANCELED_REQUEST);
const ERROR = { code: 'canceled', message: 'the run was canceled' };

/** Cancels a run. If the run is active, waits until it ends, so the caller should abort it first. */
export async function cancelRun(
  tree: AgentTree,
  sessions: SessionStore,
  key: SessionKey,
  runId: string,
  signal?: AbortSignal,
): Promise<void> {
  using opened = await openRun(sessions, key, runId, { signal });
  requireRun(opened.session, loadedRun(opened).index, key);
  await endRun(tree.agents, opened, {}, signal);
}

/** The way in which a run ends. */
export interface RunEnd {
  /** The error that ends the run. Default: the error for a run that the user has canceled. */
  readonly error?: EventError | undefined;
  /** If the run was stopped before it began: the message and the state with which to begin it. */
  readonly begin?: { readonly message: readonly ContentPart[]; readonly state: State } | undefined;
  /** Accepted answers that the run has not received yet. Their questions are still open in the run. */
  readonly answers?: readonly Answer[];
}

/**
 * Ends an open run that is not active, and notifies its agents. Does nothing if the session does not exist, if the run
 * has already failed, or if the run has not begun and `begin` is missing.
 */
export async function endRun(
  agents: Iterable<Agent>,
  opened: OpenRun,
  { error, begin, answers = [] }: RunEnd,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const loaded = loadedRun(opened);
  const { index, key, runId, session } = loaded;
  if (!session || index.failed) return;
  if (index.events === 0) {
    if (!begin) return;
    const fields = { content: userContent(begin.message), actions: { stateDelta: begin.state } };
    await loaded.append([createEvent({ runId, author: 'user' }, fields)]);
  }
  if (answers.length > 0) {
    await loaded.append([createEvent({ runId, author: 'user' }, { actions: { answers } })]);
  }
  const reason = error ? `the run ended with an error (${error.code})` : STOPPED_BY_USER;
  const delegated = await loaded.delegated();
  const blocked = index.blockedCalls();
  const calls = [...index.openCalls.values()].map((call) => {
    const work = workFor(call.part.id, delegated);
    const why = isUnknown(call, index, blocked)
      ? outcomeUnknown(work)
      : stopped(reason, call, { work });
    return endedCall(index, call, why);
  });
  const end = error ? { error } : { content: CANCELED, error: ERROR };
  await loaded.append([...calls, createEvent({ runId, author: 'user' }, end)]);
  // `session` was read before the events above were added. So the agents still find their open calls in its events.
  const run = { runId, session: key, events: session.events, sessions: loaded.store, signal };
  const tell = async (agent: Agent) => agent.cancel?.(run);
  await Promise.allSettled([...agents].map(tell));
}
