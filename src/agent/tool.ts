/**
 * The interface between a tool and an agent. The modules in tools/ make tools from functions with a zod schema and from
 * the tools of an MCP server.
 *
 * If a tool throws, the run continues, unless the run's signal is aborted. The model gets the error's message as the
 * call's response. A ToolError also has a type, and it may contain another response for the model.
 */
import type { JsonObject, JsonValue, MaybePromise } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { CanceledRun } from './canceled-run.ts';
import type { BlobPart, Content, FileContentPart, FunctionCallPart } from './content.ts';
import type { Answer, Question } from './event.ts';
import type { Model, ToolDeclaration } from './model.ts';
import type { SessionKey, SessionStore } from './session.ts';

/**
 * The state for agents, tools and callbacks. After `set`, `get` returns the new value at once. The change is stored
 * with the next complete event. A change of a `temp:` key is not stored.
 */
export interface MutableState {
  get(key: string): JsonValue | undefined;
  /** Changes the value of a key. Null removes the key. Undefined, which only JavaScript code can pass, is ignored. */
  set(key: string, value: JsonValue): void;
}

/**
 * The context of a tool call: data about the call, and functions that the tool can use.
 *
 *   run: ({ city }, context: ToolContext) => context.answer ? book(city) : context.ask({ text: 'Are you sure?' })
 */
export interface ToolContext {
  readonly callId: string;
  readonly runId: string;
  /** The name of the agent that calls the tool. */
  readonly agent: string;
  readonly session: SessionKey;
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  /** The signal that is aborted when the run is aborted. The run does not wait for a tool that ignores the signal. */
  readonly signal: AbortSignal;
  /** The conversation so far, including the call. */
  readonly history: readonly Content[];
  /**
   * The person's answer to the question that the tool asked in this call, or undefined if the tool has not asked yet.
   */
  readonly answer: Answer | undefined;
  /** The person's answer to the confirmation of this call, or undefined if there is none. */
  readonly confirmation?: Answer | undefined;
  /** Shows the progress of the call to people. The progress is not stored. */
  progress(value: JsonValue): void;
  /** Asks a person a question: `return ctx.ask({ text: 'Which city?' })`. The tool is called again with the answer. */
  ask(question: Partial<Omit<Question, 'id' | 'agent'>> & Pick<Question, 'text'>): Waiting;
  /** Transfers the conversation to the named agent, after all calls of the current model answer have ended. */
  transferTo(agent: string): void;
  /** Ends the agent after all calls of the current model answer have ended, and returns control to its parent. */
  escalate(): void;
  /** The services for tools that run another agent. */
  readonly services: ToolServices;
}

/** The data that a tool needs to run another agent. */
export interface ToolServices {
  readonly sessions: SessionStore;
  readonly defaultModel: Model | undefined;
}

/**
 * Symbols that identify the classes below. `instanceof` is not enough, because a tool may come from another copy of
 * this package.
 */
const WAITING = Symbol.for('parley.waiting');
const RICH_RESPONSE = Symbol.for('parley.rich-response');

function has(value: unknown, mark: symbol): boolean {
  return typeof value === 'object' && value !== null && mark in value;
}

/** The result of `ctx.ask`. The call stays open until an answer arrives. */
export class Waiting {
  readonly [WAITING] = true;
  static [Symbol.hasInstance](value: unknown): value is Waiting {
    return has(value, WAITING);
  }

  readonly question: Question;
  /** All questions. There can be several questions only if an agent that runs as a tool has asked them. */
  readonly questions: readonly Question[];
  constructor(question: Question, ...others: readonly Question[]) {
    this.question = question;
    this.questions = [question, ...others];
  }
}

/**
 * A tool's response with images or files for the model, or with a different text for people.
 *
 *   return new RichResponse('3 rows', { display: table });
 */
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

/** The question that a person must answer before the call is made. */
export interface ToolConfirmation {
  readonly text: string;
  readonly options?: readonly string[];
  readonly detail?: JsonValue;
}

/**
 * A function that a model can call. Create one with `tool`, `agentTool` or `mcpToolset`.
 *
 *   const input = z.object({});
 *   const now: Tool = tool({ name: 'now', description: 'The time', input, run: () => new Date().toISOString() });
 */
export interface Tool extends ToolDeclaration {
  /**
   * Returns whether a person must confirm this call: false, true, or the question to ask. If it returns true, the
   * question is generated from the call. `confirm` is called after `parse` and before `run`.
   */
  confirm?(args: JsonObject, context: ToolContext): MaybePromise<boolean | ToolConfirmation>;
  /** Validates and converts the arguments. Throws an error that explains to the model what is wrong. */
  parse?(args: JsonObject): JsonObject;
  /**
   * Runs the tool. Returns the response: JSON, undefined, a RichResponse, or `ctx.ask(…)`. If the tool is
   * `longRunning`, the call stays open after `run`, and an answer that arrives later is the response.
   */
  run(args: JsonObject, context: ToolContext): MaybePromise<unknown>;
  /**
   * Whether calls of this tool run in the order of the model's answer. A call of a sequential tool runs after all
   * earlier calls of the same model answer have ended. Later calls wait for it. By default, the calls run concurrently.
   */
  readonly sequential?: boolean;
  /**
   * Returns whether `confirm` depends on an earlier call of the same model answer. If so, `confirm` is called after the
   * earlier call has ended. `earlier` is always a call of a sequential tool, and it has not ended. Must not throw. By
   * default, `confirm` depends on no other call, so that a person sees the questions of all calls at once.
   */
  confirmsAfter?(args: JsonObject, earlier: FunctionCallPart): boolean;
  /** Whether the response arrives later, from outside the run. Until then, people see the value that `run` returned. */
  readonly longRunning?: boolean;
  /**
   * Cancels work that a call has started elsewhere, for example the run of another agent. After a run was canceled or
   * was ended with `Runner.end`, this function is called for each call without a response. Such a call waits for an
   * answer, was active when its process ended, or has not begun. If a call was active when its process ended, this
   * function is also called when the run is resumed. Errors are ignored.
   */
  cancel?(callId: string, run: CanceledRun): Promise<void>;
}

/** Tools that are listed only when a run needs them, such as the tools of an MCP server. */
export interface Toolset {
  readonly name: string;
  tools(signal: AbortSignal): Promise<readonly Tool[]>;
  /**
   * Cancels work that a call has started elsewhere, like `Tool.cancel`. It may also be called for calls of tools that
   * do not belong to this toolset, because every toolset would have to list its tools again to find the right toolset.
   */
  cancel?(callId: string, run: CanceledRun): Promise<void>;
  close?(): Promise<void>;
}

/** Returns whether the value is a toolset and not a single tool. */
export function isToolset(tool: Tool | Toolset): tool is Toolset {
  return 'tools' in tool;
}
