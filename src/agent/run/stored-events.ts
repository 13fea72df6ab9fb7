import { delegatedSession } from '../delegated.ts';
import { createEvent, type Event } from '../event.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import { RunIndex, type OpenCall } from './run-index.ts';

/**
 * Returns the stored events of the agent that handles a call of a run, and of the agents that handle its calls without a
 * response. The events have the form in which the caller's run showed them.
 */
export async function storedEvents(
  sessions: SessionStore,
  session: SessionKey,
  runId: string,
  { part: { id: callId }, agent: author }: OpenCall,
): Promise<Event[]> {
  const key = delegatedSession(session, callId);
  const all = (await sessions.get(key))?.events ?? [];
  const open = [...new RunIndex(callId, all).openCalls.values()];
  const nested = await Promise.all(open.map((call) => storedEvents(sessions, key, callId, call)));
  return [...all.filter((event) => event.runId === callId), ...nested.flat()].map((event) =>
    createEvent({ runId, author }, { partial: true, actions: { delegated: { callId, event } } }),
  );
}
