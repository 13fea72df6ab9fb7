/**
 * The events of a session, in order.
 *
 * A run starts with the user's event and ends when an agent is done or waits for a person. Each of its events has the
 * run's id. Everything that a run needs after a restart is in its events: calls without a response, open questions and
 * their answers, and the checkpoints of sequences. So any process with the same session store can continue a run.
 *
 * Partial events are chunks of a complete event that follows, and have its id. They are shown but not stored.
 */
import type { JsonObject, JsonValue } from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import { functionCalls, functionResponses, type Content } from './content.ts';

/** The tokens that a request to a model used. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The input tokens that came from the vendor's cache. */
  readonly cachedTokens?: number;
  /** The output tokens that were thoughts. */
  readonly thoughtTokens?: number;
}

/** A question to a person. The run continues when it is answered. */
export interface Question {
  /** For a tool's question, the call's id. */
  readonly id: string;
  /** `confirmation`: whether a call is allowed. `auth`: asks for authorization. `input`: anything else. */
  readonly kind: 'confirmation' | 'input' | 'auth';
  /** The question, for people. */
  readonly text: string;
  /** The agent that asks. */
  readonly agent: string;
  readonly tool?: string;
  readonly args?: JsonObject;
  /** Answers to choose from. */
  readonly options?: readonly string[];
  readonly detail?: JsonValue;
}

/**
 * A person's answer to a question.
 *
 *   runner.resume({ user, session, runId, answers: [{ questionId: 'call_1', confirmed: true }] });
 */
export interface Answer {
  readonly questionId: string;
  /** For a confirmation. Absent means no. */
  readonly confirmed?: boolean;
  /** For a confirmation: arguments that replace those of the call. */
  readonly args?: JsonObject;
  /** For any other question. */
  readonly value?: JsonValue;
}

/** A summary that replaces the older part of the conversation. */
export interface Compaction {
  /** The last event that the summary covers. */
  readonly upTo: string;
  readonly summary: string;
}

/** The conversation continues from an earlier point: see conversation.ts. */
export interface Rewind {
  /** The last event that remains part of the conversation; null starts it over. */
  readonly to: string | null;
}

/** The effects of an event, in addition to its content. */
export interface Actions {
  /** Keys to set; null removes a key. The prefix `user:`, `app:` or `temp:` is the scope; without one it is the session. */
  readonly stateDelta?: Readonly<Record<string, JsonValue>>;
  /** Artifacts that were saved, with their new version. */
  readonly artifactDelta?: Readonly<Record<string, number>>;
  /** The name of the agent that continues. */
  readonly transferTo?: string;
  /** Returns control to the parent agent. A loop ends. */
  readonly escalate?: boolean;
  readonly questions?: readonly Question[];
  /** In the user's event that resumes a run. */
  readonly answers?: readonly Answer[];
  /** The progress of the agent at this path, for a run that is resumed. */
  readonly checkpoint?: { readonly path: string; readonly value: JsonValue };
  /** In a partial event: the progress of a running call. */
  readonly progress?: { readonly callId: string; readonly value: JsonValue };
  readonly compaction?: Compaction;
  readonly rewind?: Rewind;
}

/** Why a run failed. */
export interface EventError {
  /** For programs: `model-rate-limit`, `step-limit`, `unknown-agent`. */
  readonly code: string;
  /** For the operator. It may name causes, so the bridge does not show it to peers. */
  readonly message: string;
}

/**
 * One event of a session.
 *
 *   for await (const event of runner.run({ user, session, message })) console.log(event.author, contentText(event.content));
 */
export interface Event {
  readonly id: string;
  readonly runId: string;
  /** `user`, or the agent's name. */
  readonly author: string;
  /** Agents that run in parallel see only the events before the branch and those of their own branch: `team.left`. */
  readonly branch?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly partial?: boolean;
  /** In the user's event that starts a run: models never see this run. */
  readonly aside?: boolean;
  readonly content?: Content;
  readonly usage?: Usage;
  /** The run has failed and ended. */
  readonly error?: EventError;
  /** Calls in `content` that remain open when the run stops. */
  readonly longRunningToolIds?: readonly string[];
  readonly actions: Actions;
  /** The agent's own data. A remote agent keeps the remote task's ids here. */
  readonly metadata?: JsonObject;
}

/** The fields that the author of an event sets. The run sets the others. */
export type EventFields = Partial<Omit<Event, 'id' | 'runId' | 'timestamp'>>;

/**
 * Makes an event with a new id and the current time.
 *
 *   createEvent({ runId, author: 'greeter' }, { content: { role: 'model', parts: [{ kind: 'text', text: 'Hello' }] } });
 */
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

/**
 * Whether the event is an agent's answer: complete, without calls, responses and questions.
 *
 *   if (isFinalResponse(event)) console.log(contentText(event.content));
 */
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
