/**
 * The events of a session, in order.
 *
 * A run starts with the user's event, and stops when the agent is done or waits for a person. All events of a run have
 * the run's id. They contain everything that the run needs after a restart: calls without a response, open questions,
 * answers, and checkpoints. So any process with the same session store can continue a run.
 *
 * Partial events are shown but not stored. A partial event with content is a chunk of a complete event, which normally
 * follows and has the same id. Other partial events show, for example, the progress of a call, or an event of an agent
 * that runs as a tool.
 */
import type { JsonObject, JsonValue } from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import { functionCalls, functionResponses, type Content } from './content.ts';

/** The tokens that a request to a model used. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The input tokens that came from the vendor's cache. They are included in `inputTokens`. */
  readonly cachedTokens?: number;
  /** The output tokens that were thoughts. They are included in `outputTokens`. */
  readonly thoughtTokens?: number;
}

/** A question to a person. The run continues when the question is answered. */
export interface Question {
  /** The id of the question. The question of a tool has the id of the call. */
  readonly id: string;
  /**
   * The id of the call that waits for the answer. It is set if an agent that runs as a tool, or an MCP server, asks
   * during the call, because such a question has an id of its own.
   */
  readonly callId?: string;
  /**
   * The kind of question. `confirmation` asks whether a call is allowed. `auth` asks for authorization. `input` asks
   * for anything else.
   */
  readonly kind: 'confirmation' | 'input' | 'auth';
  /** The text of the question, for people. */
  readonly text: string;
  /** The name of the agent that asks. */
  readonly agent: string;
  readonly tool?: string;
  readonly args?: JsonObject;
  /** The answers that the person can choose from. */
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
  /**
   * The answer to a confirmation. If it is missing, the answer is no. For any other question, false means that the
   * person has chosen not to answer.
   */
  readonly confirmed?: boolean;
  /** In the answer to a confirmation, the arguments that replace the call's own arguments. */
  readonly args?: JsonObject;
  /** The answer to a question that is not a confirmation. For a confirmation, the reason why the call is declined. */
  readonly value?: JsonValue;
  /**
   * A text that the person sent with the answer. The model gets this text as a message of the person, after the
   * response.
   */
  readonly words?: string;
}

/**
 * Supplies answers to a run while it is active: `runner.run({ …, inbox })`. A run without an inbox receives answers
 * only when it is resumed.
 */
export interface AnswerInbox {
  /** Returns and removes the answer to this question. Returns undefined if there is no answer yet. */
  take(question: Question): Answer | undefined;
  /** Calls `arrived` for each new answer until the returned Disposable is disposed. */
  listen(arrived: () => void): Disposable;
}

/** A summary that replaces the older part of the conversation. */
export interface Compaction {
  /** The id of the last event that the summary covers. */
  readonly upTo: string;
  readonly summary: string;
}

/** A rewind, which makes the conversation continue from an earlier point. See run/conversation.ts. */
export interface Rewind {
  /** The id of the last event that remains part of the conversation, or null to restart the conversation. */
  readonly to: string | null;
  /**
   * Whether the rewind cancels the request that was not finished at the target event. If so, a note in the conversation
   * tells models that the user canceled the request.
   */
  readonly cancels?: boolean;
}

/** The effects of an event, in addition to its content. */
export interface Actions {
  /**
   * The state keys to set, with their values. Null removes a key. The prefix `user:`, `app:` or `temp:` determines
   * the scope. A key without a prefix belongs to the session.
   */
  readonly stateDelta?: Readonly<Record<string, JsonValue>>;
  /** The saved artifacts, with their new version numbers. */
  readonly artifactDelta?: Readonly<Record<string, number>>;
  /** The name of the agent to which the conversation is transferred. */
  readonly transferTo?: string;
  /**
   * Whether the agent escalates. An escalation ends the sequences around the agent, up to and including the nearest
   * loop.
   */
  readonly escalate?: boolean;
  readonly questions?: readonly Question[];
  /** Answers to open questions of the run. */
  readonly answers?: readonly Answer[];
  /** The progress of the agent at `path`. A resumed run continues from this checkpoint. */
  readonly checkpoint?: { readonly path: string; readonly value: JsonValue };
  /** The progress of a running call. Only partial events have this field. */
  readonly progress?: { readonly callId: string; readonly value: JsonValue };
  /**
   * The ids of calls that wait until earlier calls of the same model answer have ended. Only partial events have this
   * field.
   */
  readonly waits?: readonly string[];
  /**
   * An event of an agent that runs as a tool, and the call that the agent works for. Only partial events have this
   * field. The inner event is stored only in that agent's own session, and has the ids of that session. Read it with
   * `delegatedIn`.
   */
  readonly delegated?: { readonly callId: string; readonly event: Event };
  readonly compaction?: Compaction;
  readonly rewind?: Rewind;
}

/** The reason why a run failed. */
export interface EventError {
  /** The error code for programs, for example `model-rate-limit`, `step-limit` or `unknown-agent`. */
  readonly code: string;
  /**
   * The message for the operator. It may contain internal details, so the A2A bridge (src/bridge) does not send it to
   * clients.
   */
  readonly message: string;
}

/**
 * One event of a session.
 *
 *   for await (const { author, content } of runner.run({ user, session, message })) {
 *     console.log(author, contentText(content));
 *   }
 */
export interface Event {
  readonly id: string;
  readonly runId: string;
  /** The author of the event: `user` or the agent's name. */
  readonly author: string;
  /**
   * The branch of an agent that runs in parallel, for example `team.left`. The agent sees the events without a branch,
   * and those of its own branch, of enclosing branches and of nested branches.
   */
  readonly branch?: string;
  /** The time of the event, in milliseconds since 1970. */
  readonly timestamp: number;
  readonly partial?: boolean;
  /**
   * Whether the run is an aside. Models never see the events of an aside. Set in the user's event that starts the run.
   */
  readonly aside?: boolean;
  readonly content?: Content;
  readonly usage?: Usage;
  /** The error that ended the run. */
  readonly error?: EventError;
  /** The ids of the calls of long-running tools in `content`. These calls may remain open when the run stops. */
  readonly longRunningToolIds?: readonly string[];
  readonly actions: Actions;
  /**
   * Additional data of the agent and of the runner. For example, a remote agent stores the ids of the remote task here,
   * and the runner sets `interrupted` if the end of an answer is missing.
   */
  readonly metadata?: JsonObject;
}

/** The fields that an agent can set in an event. The framework sets the id, the run's id and the time. */
export type EventFields = Partial<Omit<Event, 'id' | 'runId' | 'timestamp'>>;

/**
 * Creates an event with a new id and the current time.
 *
 *   const content: Content = { role: 'model', parts: [{ kind: 'text', text: 'Hello' }] };
 *   createEvent({ runId, author: 'greeter' }, { content });
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
 * Returns whether the event is a complete answer of an agent, without calls, responses and questions.
 *
 *   if (isFinalResponse(event)) console.log(contentText(event.content));
 */
export function isFinalResponse(event: Event): boolean {
  return (
    event.partial !== true &&
    event.author !== 'user' &&
    event.error === undefined &&
    event.metadata?.['interrupted'] !== true &&
    event.content !== undefined &&
    functionCalls(event.content).length === 0 &&
    functionResponses(event.content).length === 0 &&
    event.actions.questions === undefined
  );
}
