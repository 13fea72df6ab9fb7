import { delegatedSession } from '../delegated.ts';
import { createEvent, type Event } from '../event.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import { RunIndex, type OpenCall } from './run-index.ts';

/**
 * Returns the stored events of the agent that runs as a tool for this call. If that agent has open calls, also returns
 * the events of the agents that run for those calls. Each event is inside a partial event of the caller's run
 * (`actions.delegated`), as the run showed it.
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
