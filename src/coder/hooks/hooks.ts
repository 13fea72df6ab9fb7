/**
 * The hooks in the settings: commands that run before and after a tool call, and at the end of a turn.
 *
 * A hook can only refuse. The policy is applied first. If the policy denies a call, no hook runs. If the policy
 * requires an approval, a person must still approve the call after the hooks. So a hook never allows more than the
 * policy does.
 *
 * If a hook refuses before a call, the call fails. If it refuses after a call, its reason is added to the result. If it
 * refuses the end of a completed turn, the agent continues. If a hook fails, the person who runs the program gets a
 * notice. The failure of a hook with `required` counts as a refusal. Any other failure has no effect on the call or the
 * turn.
 */
import {
  defined,
  isObject,
  oneLine,
  reasonOf,
  shorten,
  type JsonObject,
  type JsonValue,
} from '../../base/index.ts';
import {
  RichResponse,
  ToolError,
  Waiting,
  type SessionKey,
  type Tool,
  type ToolContext,
  type Toolset,
} from '../../agent/index.ts';
import { matchesName } from '../files/glob-pattern.ts';
import type { Hook, Settings } from '../settings/schema.ts';
import { newContentOf, toolNames } from '../tools/tool.ts';
import { runHook, type HookPlace } from './run-hook.ts';

export interface HooksOptions extends HookPlace {
  readonly hooks: Settings['hooks'];
  /** The name of the main agent. All other agents are helpers. */
  readonly agent: string;
  /** Called when a hook has failed. Must not throw. */
  failed(event: string, command: string, problem: string): void;
  /** Called when a hook refuses after a call. Must not throw. */
  said(tool: string, remark: string): void;
}

export type CoderHooks = ReturnType<typeof openHooks>;

/** Maximum length of a result as JSON in the input of a hook. */
const MAX_RESULT = 256 * 1024;
const MAX_NOTICE = 300;

export function openHooks({ hooks = {}, agent, ...options }: HooksOptions) {
  const { beforeTool = [], afterTool = [], afterTurn = [] } = hooks;

  /**
   * Runs the hooks in order. Returns the reason of the first hook that refuses, or undefined if none refuses. A
   * required hook that fails counts as a refusal.
   */
  async function decide(
    list: readonly Hook[],
    input: JsonObject & { event: string },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    for (const hook of list) {
      const outcome = await runHook(hook, { ...input, workspace: options.cwd }, options, signal);
      if (outcome.kind === 'refused') return outcome.reason;
      if (outcome.kind === 'failed') {
        const problem = shorten(oneLine(outcome.problem), MAX_NOTICE);
        options.failed(input.event, hook.command, problem);
        if (hook.required === true) return 'a required hook failed';
      }
    }
    return undefined;
  }

  const about = (tool: Tool) => (hook: Hook) =>
    toolNames(tool).some((name) => matchesName(hook.tool ?? '*', name));

  /** Runs the hooks of a tool call. `more` is added to their input. */
  function decideOn(
    event: 'beforeTool' | 'afterTool',
    tool: Tool,
    args: JsonObject,
    context: ToolContext,
    more: JsonObject,
  ): Promise<string | undefined> {
    const input = {
      event,
      session: context.session.id,
      ...(context.agent !== agent && { helper: context.agent }),
      callId: context.callId,
      tool: tool.name,
      arguments: args,
      ...more,
    };
    return decide(hooks[event]?.filter(about(tool)) ?? [], input, context.signal);
  }

  /** Throws if a hook refuses the call. */
  async function before(tool: Tool, args: JsonObject, context: ToolContext): Promise<void> {
    // If a person has replaced the content of an edit, the hook gets the new content.
    const replaced = defined({ newContent: newContentOf(context.confirmation) });
    const reason = await decideOn('beforeTool', tool, args, context, replaced);
    if (reason !== undefined) throw new ToolError('denied', `a hook refused this call: ${reason}`);
  }

  async function after(
    tool: Tool,
    args: JsonObject,
    context: ToolContext,
    { failed, value }: { readonly failed: boolean; readonly value: unknown },
  ): Promise<string | undefined> {
    const result = { failed, ...resultFor(value) };
    const reason = await decideOn('afterTool', tool, args, context, result);
    if (reason !== undefined) options.said(tool.name, shorten(oneLine(reason), MAX_NOTICE));
    return reason;
  }

  /** Returns the tool with the hooks of its calls. */
  function hooked(tool: Tool): Tool {
    if (![...beforeTool, ...afterTool].some(about(tool))) return tool;
    return {
      ...tool,
      async confirm(args, context) {
        const asks = (await tool.confirm?.(args, context)) ?? false;
        await before(tool, args, context);
        return asks;
      },
      async run(args, context) {
        if (newContentOf(context.confirmation) !== undefined) await before(tool, args, context);
        let result: unknown;
        try {
          result = await tool.run(args, context);
        } catch (error) {
          context.signal.throwIfAborted();
          const remark = await after(tool, args, context, { failed: true, value: reasonOf(error) });
          throw remark === undefined ? error : failureWith(error, remark);
        }
        if (result instanceof Waiting) return result;
        const rich = result instanceof RichResponse ? result : undefined;
        const value = rich ? rich.response : result;
        const remark = await after(tool, args, context, { failed: false, value });
        if (remark === undefined) return result;
        const { parts = [], display } = rich ?? {};
        return new RichResponse(withRemark(value, remark), {
          parts,
          display: display ?? jsonOf(value),
        });
      },
    };
  }

  return {
    tool: hooked,
    toolset: (toolset: Toolset): Toolset => ({
      name: toolset.name,
      tools: async (signal) => (await toolset.tools(signal)).map(hooked),
      cancel: async (callId, run) => toolset.cancel?.(callId, run),
    }),
    /**
     * Runs the hooks at the end of a turn. Returns the reason if a hook refuses this end, or else undefined. `text` is
     * the agent's answer.
     */
    async afterTurn(
      session: SessionKey,
      outcome: 'done' | 'failed' | 'stopped',
      text: string | undefined,
      signal: AbortSignal,
    ): Promise<string | undefined> {
      const input = { event: 'afterTurn', session: session.id, outcome, ...defined({ text }) };
      return decide(afterTurn, input, signal);
    },
  };
}

function jsonOf(value: unknown): JsonValue {
  if (value === undefined) return null;
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/**
 * Returns the fields with the result for the input of a hook. A large result is replaced with its JSON text, shortened.
 */
function resultFor(value: unknown): JsonObject {
  const json = JSON.stringify(value ?? null);
  if (json.length <= MAX_RESULT) return { result: jsonOf(value) };
  return { result: shorten(json, MAX_RESULT), resultIsCut: true };
}

/** Returns the response to the model with the remark of a hook. */
function withRemark(value: unknown, remark: string): JsonValue {
  const response = jsonOf(value);
  if (typeof response === 'string') return `${response}\n\n[A hook says: ${remark}]`;
  return isObject(response) ? { ...response, hook: remark } : { result: response, hook: remark };
}

function failureWith(error: unknown, remark: string): ToolError {
  const known = error instanceof ToolError ? error : undefined;
  return new ToolError(known?.type ?? 'tool_error', reasonOf(error), {
    response: withRemark(known?.response ?? reasonOf(error), remark),
    ...defined({ statusCode: known?.statusCode }),
    cause: error,
  });
}
