/**
 * Where others step in: callbacks belong to one agent, plugins to a runner and so to all of its agents.
 *
 * Of several that could, plugins come first, in their order, then the agent's own callback; the first that returns
 * something has decided, and the rest are not asked. Returning nothing lets things take their course. What a hook
 * throws ends the run with an error event, unless it says otherwise. A hook must mind `signal`, which is aborted when
 * the run is; one that does not is left behind.
 */
import type { MaybePromise, JsonObject, JsonValue } from '../base/index.ts';
import type { Artifacts } from './artifact.ts';
import type { Content } from './content.ts';
import type { Event, Usage } from './event.ts';
import type { FinishReason, ModelRequest } from './model.ts';
import type { SessionKey } from './session.ts';
import type { MutableState, Tool, ToolContext } from './tool.ts';

/** What a hook may look at and change. What it sets in `state` is in the agent's next event. */
export interface HookContext {
  readonly runId: string;
  /** The agent's name. */
  readonly agent: string;
  readonly path: string;
  readonly session: SessionKey;
  /** What the user said when the run began. */
  readonly input: Content;
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
}

export interface ModelAnswer {
  readonly content: Content;
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
}

export interface ToolInvocation {
  readonly id: string;
  readonly tool: Tool;
  /** As the schema has accepted them. */
  readonly args: JsonObject;
}

export interface ToolResult {
  readonly response: JsonValue;
  readonly isError?: boolean;
}

/** A hook returns nothing, or a value that replaces the default. */
export type HookResult<T> = MaybePromise<T | undefined | void>;

export interface Callbacks {
  /**
   * Before the agent begins, and again when it is taken up after a person's answer. A content is its answer: the
   * agent is not run.
   */
  beforeAgent?(context: HookContext): HookResult<Content>;
  /** After the agent is done; not while it waits, nor when it failed. A content is said in addition. */
  afterAgent?(context: HookContext): HookResult<Content>;
  /** Before each request. Another request is sent instead; an answer is taken for the model's, which is not asked. */
  beforeModel?(
    request: ModelRequest,
    context: HookContext,
  ): HookResult<{ readonly request: ModelRequest } | { readonly answer: ModelAnswer }>;
  /** After each whole answer: another one is taken for it. Pieces of the first may have been shown by then. */
  afterModel?(answer: ModelAnswer, context: HookContext): HookResult<ModelAnswer>;
  /** When there is no answer: one in its place, or nothing and the run fails. */
  onModelError?(error: Error, request: ModelRequest, context: HookContext): HookResult<ModelAnswer>;
  /**
   * Before a tool is run, and before a person is asked whether it may be; again when the call is taken up. Other
   * arguments are used instead (unchecked); a result is taken for the tool's, which is not run. What it throws goes
   * to the model, as a tool's error does.
   */
  beforeTool?(
    call: ToolInvocation,
    context: ToolContext,
  ): HookResult<{ readonly args: JsonObject } | { readonly result: ToolResult }>;
  /** After a tool has answered or failed: another result is taken for it. What it throws goes to the model. */
  afterTool?(
    call: ToolInvocation,
    result: ToolResult,
    context: ToolContext,
  ): HookResult<ToolResult>;
}

export interface RunInfo {
  readonly runId: string;
  readonly session: SessionKey;
}

/** How a run, or the part of it until it waits, came to its end. */
export type RunOutcome = 'done' | 'waiting' | 'failed' | 'aborted';

export interface Plugin extends Callbacks {
  readonly name: string;
  /** Before the user's message is stored: another one is stored instead. */
  onUserMessage?(message: Content, run: RunInfo): HookResult<Content>;
  /**
   * For each event, before it is stored and shown, partial ones included: another one takes its place. Its id, run,
   * author and branch, and whether it is partial, stay as they were. Every plugin is asked, each with what the one before made of it.
   */
  onEvent?(event: Event, run: RunInfo): HookResult<Event>;
  /** When the run is over, waits or was aborted; not waited for in the last case. Must not throw. */
  afterRun?(outcome: RunOutcome, run: RunInfo): MaybePromise<void>;
}

/** The hooks of that name, in the order in which they are asked. */
export function hooksOf<Name extends keyof Callbacks>(
  name: Name,
  plugins: readonly Plugin[],
  own: Callbacks | undefined,
): NonNullable<Callbacks[Name]>[] {
  const hooks: NonNullable<Callbacks[Name]>[] = [];
  for (const owner of own === undefined ? plugins : [...plugins, own]) {
    const hook = owner[name]?.bind(owner);
    // `bind` makes the hook's own type a general function's.
    if (hook) hooks.push(hook as NonNullable<Callbacks[Name]>);
  }
  return hooks;
}
