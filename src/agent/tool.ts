/**
 * What a tool is to an agent. tools/ has the comfortable ways to make one: a function with a zod schema, an agent,
 * the tools of an MCP server.
 *
 * A tool that throws does not end the run: the model gets the error's message as the call's response. Only the
 * signal's abort goes up.
 */
import type { JsonObject, JsonValue, MaybePromise } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { CanceledRun } from './canceled-run.ts';
import type { BlobPart, Content, FileContentPart } from './content.ts';
import type { Answer, Question } from './event.ts';
import type { Model, ToolDeclaration } from './model.ts';
import type { SessionKey, SessionStore } from './session.ts';

/** State as a tool or callback sees it. What it sets is in its event's state delta, and in `get` at once. */
export interface MutableState {
  get(key: string): JsonValue | undefined;
  /** Null removes the key. */
  set(key: string, value: JsonValue): void;
}

export interface ToolContext {
  readonly callId: string;
  readonly runId: string;
  /** The agent that calls. */
  readonly agent: string;
  readonly session: SessionKey;
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  /** Aborted when the run is. A tool that goes on regardless is not waited for. */
  readonly signal: AbortSignal;
  /** The conversation so far, the call included. */
  readonly history: readonly Content[];
  /** What the person said to this tool's question; undefined when it is called for the first time. */
  readonly answer: Answer | undefined;
  /** What the person said when asked whether the call may be made; undefined when nobody was asked. */
  readonly confirmation?: Answer | undefined;
  /** Shows people how far the call is. Not stored. */
  progress(value: JsonValue): void;
  /** Leaves the call open: `return ctx.ask({ text: 'Which city?' })`. The tool is called again with the answer. */
  ask(question: Partial<Omit<Question, 'id' | 'agent'>> & Pick<Question, 'text'>): Waiting;
  /** After this step, the named agent goes on instead of this one. */
  transferTo(agent: string): void;
  /** After this step the agent ends and hands the matter back. */
  escalate(): void;
  /** What is needed to run another agent on behalf of this call. */
  readonly services: ToolServices;
}

export interface ToolServices {
  readonly sessions: SessionStore;
  readonly defaultModel: Model | undefined;
}

/** What tools return is told by its mark: a tool may have come with another copy of this package than the agent. */
const WAITING = Symbol.for('parley.waiting');
const RICH_RESPONSE = Symbol.for('parley.rich-response');

function has(value: unknown, mark: symbol): boolean {
  return typeof value === 'object' && value !== null && mark in value;
}

/** What `ctx.ask` returns: the call stays open. */
export class Waiting {
  readonly [WAITING] = true;
  static [Symbol.hasInstance](value: unknown): value is Waiting {
    return has(value, WAITING);
  }

  readonly question: Question;
  constructor(question: Question) {
    this.question = question;
  }
}

/** A response with more beside it: pictures and files for the model, and what people are shown instead. */
export class RichResponse {
  readonly [RICH_RESPONSE] = true;
  static [Symbol.hasInstance](value: unknown): value is RichResponse {
    return has(value, RICH_RESPONSE);
  }

  readonly response: JsonValue;
  readonly parts: readonly (BlobPart | FileContentPart)[];
  readonly display: JsonValue | undefined;
  constructor(
    response: JsonValue,
    more: {
      readonly parts?: readonly (BlobPart | FileContentPart)[];
      readonly display?: JsonValue;
    },
  ) {
    this.response = response;
    this.parts = more.parts ?? [];
    this.display = more.display;
  }
}

/** What a person is asked before the call is made. */
export interface ToolConfirmation {
  readonly text: string;
  readonly options?: readonly string[];
  readonly detail?: JsonValue;
}

export interface Tool extends ToolDeclaration {
  /**
   * Whether a person has to allow this call: false, true (with a text made from the call), or what to ask. Called
   * before `run`, with arguments that the schema has accepted.
   */
  confirm?(args: JsonObject, context: ToolContext): MaybePromise<boolean | ToolConfirmation>;
  /** Checks the arguments and returns them as the schema makes them; throws with what is wrong, for the model. */
  parse?(args: JsonObject): JsonObject;
  /**
   * The response: JSON, undefined for none, a RichResponse, or `ctx.ask(…)`. A tool that is `longRunning` and returns
   * without having asked leaves its call open all the same; its answer is the response then.
   */
  run(args: JsonObject, context: ToolContext): MaybePromise<unknown>;
  /** The call is answered later, from outside. What `run` returns is shown meanwhile. */
  readonly longRunning?: boolean;
  /** A call waits for an answer, and its run was canceled: what it has left to others is to end. */
  cancel?(callId: string, run: CanceledRun): Promise<void>;
}

/** Tools that are found out when they are needed. */
export interface Toolset {
  readonly name: string;
  tools(signal: AbortSignal): Promise<readonly Tool[]>;
  close?(): Promise<void>;
}

export function isToolset(tool: Tool | Toolset): tool is Toolset {
  return 'tools' in tool;
}
