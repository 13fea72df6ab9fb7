/**
 * The hooks of a run: functions that are called at certain points. Callbacks belong to one agent. Plugins belong to a
 * runner and apply to all of its agents.
 *
 * The hooks of the plugins are called first, in the order of the plugins. The agent's own callback is called last. When
 * a hook returns a value, this value is used and no further hook is called. `onEvent` is different: every plugin is
 * called, with the result of the previous one. A hook that returns nothing changes nothing. An error in a hook ends the
 * run with an error event, unless the description of the hook says otherwise. An aborted run does not wait for its
 * hooks, so a hook should stop when `signal` is aborted.
 */
import type { MaybePromise, JsonObject, JsonValue } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { Content } from './content.ts';
import type { Event, Usage } from './event.ts';
import type { FinishReason, ModelRequest } from './model.ts';
import type { SessionKey } from './session.ts';
import type { MutableState, Tool, ToolContext } from './tool.ts';
import type { ToolErrorDetails } from './tool-error.ts';

/**
 * The data that a hook can read and change. A value that the hook sets in `state` is stored with the agent's next
 * complete event.
 */
export interface HookContext {
  readonly runId: string;
  /** The agent's name. */
  readonly agent: string;
  readonly path: string;
  readonly session: SessionKey;
  /** The message that started the run. */
  readonly input: Content;
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
}

/** A complete answer of a model. */
export interface ModelAnswer {
  readonly content: Content;
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
}

/** A tool call, as hooks see it. */
export interface ToolInvocation {
  readonly id: string;
  readonly tool: Tool;
  /** The arguments. If the tool has `parse`, they are its result. A `beforeTool` hook may have replaced them. */
  readonly args: JsonObject;
}

/** The result of a tool call, as hooks see it. */
export interface ToolResult {
  readonly response: JsonValue;
  readonly isError?: boolean;
  /** The type of the error. Default: `tool_error`. */
  readonly error?: ToolErrorDetails;
}

/** The result of a hook: nothing, or a value that replaces the default. */
export type HookResult<T> = MaybePromise<T | undefined | void>;

/**
 * Hooks of one agent.
 *
 *   llmAgent({ name: 'host', callbacks: { beforeTool: ({ args }) => ({ args: { ...args, dryRun: true } }) } });
 */
export interface Callbacks {
  /**
   * Called before the agent starts, and again when the agent is resumed. If the hook returns a content, this content is
   * the agent's answer, and the agent does not run.
   */
  beforeAgent?(context: HookContext): HookResult<Content>;
  /**
   * Called when the agent is done. It is not called if the agent waits or has failed, or if `beforeAgent` has returned
   * the answer. If the hook returns a content, this content is added to the agent's answer.
   */
  afterAgent?(context: HookContext): HookResult<Content>;
  /**
   * Called before each request to the model, except requests for a summary (compaction). May return another request,
   * which is sent instead. May return an answer, and then the model is not called.
   */
  beforeModel?(
    request: ModelRequest,
    context: HookContext,
  ): HookResult<{ readonly request: ModelRequest } | { readonly answer: ModelAnswer }>;
  /** Called after each complete answer. May replace the answer, but its chunks may already have been shown. */
  afterModel?(answer: ModelAnswer, context: HookContext): HookResult<ModelAnswer>;
  /**
   * Called when the model has failed. May return an answer, which is used instead. Otherwise the run fails, unless the
   * conversation was too long and can be compacted.
   */
  onModelError?(error: Error, request: ModelRequest, context: HookContext): HookResult<ModelAnswer>;
  /**
   * Called before a tool call is confirmed and run, and again when the call is resumed. May return other arguments,
   * which are not validated. May return a result, and then the tool does not run. An error in this hook becomes the
   * response to the call.
   */
  beforeTool?(
    call: ToolInvocation,
    context: ToolContext,
  ): HookResult<{ readonly args: JsonObject } | { readonly result: ToolResult }>;
  /**
   * Called after a tool has returned or failed. Not called if the tool did not run, or if the call waits for an answer.
   * May replace the result. An error in this hook becomes the response to the call.
   */
  afterTool?(
    call: ToolInvocation,
    result: ToolResult,
    context: ToolContext,
  ): HookResult<ToolResult>;
}

/** Data about the run for which a plugin is called. */
export interface RunInfo {
  readonly runId: string;
  readonly session: SessionKey;
}

/** The way in which a run ended or stopped. */
export type RunOutcome = 'done' | 'waiting' | 'failed' | 'aborted';

/**
 * Hooks of a runner, for all of its agents.
 *
 *   createRunner({ agent, plugins: [{ name: 'audit', onEvent: (event) => void console.log(event.id) }] });
 */
export interface Plugin extends Callbacks {
  readonly name: string;
  /**
   * Called before the user's message is stored. May replace the message. If this hook throws, the message is not
   * stored, and the runner's caller gets the error.
   */
  onUserMessage?(message: Content, run: RunInfo): HookResult<Content>;
  /**
   * Called for each event that an agent yields, including partial events, before the event is stored and shown. May
   * replace the event, but not its id, run, author, branch and `partial`. Every plugin is called with the result of the
   * previous plugin. This hook is not called for the user's events, and not for the events that the runner stores when
   * a run is stopped. An error in this hook is ignored if the event is the run's error event.
   */
  onEvent?(event: Event, run: RunInfo): HookResult<Event>;
  /**
   * Called when the run has ended, waits, or was aborted. An aborted run does not wait for this hook. Must not throw.
   */
  afterRun?(outcome: RunOutcome, run: RunInfo): MaybePromise<void>;
}
