/**
 * What happens in a session, one after the other.
 *
 * A run begins with the user's event and goes on until an agent is done or waits for a person. Every event of it has
 * the run's id. Whatever a run has to remember beyond the process's life is in its events: calls without a response,
 * open questions and their answers, how far a sequence has come. So a run goes on in another process as in its own.
 *
 * Partial events are pieces of a whole that follows, and have its id; they are shown and not stored.
 */
import type { JsonObject, JsonValue } from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import { functionCalls, functionResponses, type Content } from './content.ts';

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input tokens, those that came from the vendor's cache. */
  readonly cachedTokens?: number;
  /** Of the output tokens, those that were thoughts. */
  readonly thoughtTokens?: number;
}

/** Something that a person has to say before the run can go on. */
export interface Question {
  /** For a tool's question, the call's id. */
  readonly id: string;
  /** `confirmation`: may this call be made? `input`: anything else. `auth`: an authorization is wanted. */
  readonly kind: 'confirmation' | 'input' | 'auth';
  /** What is asked, for people. */
  readonly text: string;
  /** The agent that asks. */
  readonly agent: string;
  readonly tool?: string;
  readonly args?: JsonObject;
  /** Answers to choose from. */
  readonly options?: readonly string[];
  readonly detail?: JsonValue;
}

export interface Answer {
  readonly questionId: string;
  /** Of a confirmation: absent is no. */
  readonly confirmed?: boolean;
  /** Of a confirmation: the call is made with these instead. */
  readonly args?: JsonObject;
  /** Of any other question. */
  readonly value?: JsonValue;
}

/** A part of the conversation that a summary stands for from now on. */
export interface Compaction {
  /** The last event that the summary covers. */
  readonly upTo: string;
  readonly summary: string;
}

/** The conversation goes on from an earlier point: see conversation.ts. */
export interface Rewind {
  /** The last event that is still a part of it; null: it begins anew. */
  readonly to: string | null;
}

/** What an event does beside saying something. */
export interface Actions {
  /** Keys to set; null removes one. `user:`, `app:` and `temp:` name the scope, none is the session's. */
  readonly stateDelta?: Readonly<Record<string, JsonValue>>;
  /** Artifacts that were saved, with their new version. */
  readonly artifactDelta?: Readonly<Record<string, number>>;
  /** The name of the agent that goes on. */
  readonly transferTo?: string;
  /** The agent hands the matter back to whoever runs it: a loop ends. */
  readonly escalate?: boolean;
  readonly questions?: readonly Question[];
  /** In the user's event that goes on with a run. */
  readonly answers?: readonly Answer[];
  /** How far the agent at this path has come, for a run that is taken up again. */
  readonly checkpoint?: { readonly path: string; readonly value: JsonValue };
  /** In a partial event: what a running call has to show so far. */
  readonly progress?: { readonly callId: string; readonly value: JsonValue };
  readonly compaction?: Compaction;
  readonly rewind?: Rewind;
}

export interface EventError {
  /** For programs: `model-rate-limit`, `step-limit`, `unknown-agent`. */
  readonly code: string;
  /** For the operator: may name causes. A bridge does not show it to peers. */
  readonly message: string;
}

export interface Event {
  readonly id: string;
  readonly runId: string;
  /** `user`, or the agent's name. */
  readonly author: string;
  /** Agents that run side by side see only their own branch and what was before it: `team.left`. */
  readonly branch?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly partial?: boolean;
  /** In the user's event that begins a run: models never see anything of this run. */
  readonly aside?: boolean;
  readonly content?: Content;
  readonly usage?: Usage;
  /** The run is over, and it failed. */
  readonly error?: EventError;
  /** Calls in `content` that stay open when the run stops. */
  readonly longRunningToolIds?: readonly string[];
  readonly actions: Actions;
  /** Notes of the agent for itself; a remote agent keeps the remote's ids here. */
  readonly metadata?: JsonObject;
}

/** What an author fills in; the rest is the run's. */
export type EventFields = Partial<Omit<Event, 'id' | 'runId' | 'timestamp'>>;

export function createEvent(
  run: { readonly runId: string; readonly author: string; readonly branch?: string | undefined },
  fields: EventFields = {},
): Event {
  return {
    id: randomUUIDv7(),
    runId: run.runId,
    author: run.author,
    ...(run.branch !== undefined && { branch: run.branch }),
    timestamp: Date.now(),
    actions: {},
    ...fields,
  };
}

/** Whether this is an agent's answer: whole, with neither calls nor responses in it, and with no question open. */
export function isFinalResponse(event: Event): boolean {
  return (
    event.partial !== true &&
    event.author !== 'user' &&
    event.error === undefined &&
    event.content !== undefined &&
    functionCalls(event.content).length === 0 &&
    functionResponses(event.content).length === 0 &&
    event.actions.questions === undefined
  );
}
