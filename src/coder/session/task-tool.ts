/**
 * The `task` tool, which gives a job to a helper. The helper works in its own conversation and returns a report. Users
 * see the helper's calls, thoughts and questions with the helper's name.
 *
 * A call without the argument `helper` starts the default helper. It has the model of the session and the tools of the
 * agent, except `web_search` and `task`. A local helper with a file (helpers/definition.ts) has all or some of these
 * tools. The policy of the session is part of each tool, so it applies to each call of a local helper. A helper cannot
 * call other helpers.
 *
 * A remote helper is an A2A agent. The prompt leaves this machine, so a call needs approval like other requests to the
 * network.
 */
import * as z from 'zod';
import { BoundedMap, cutText, type JsonObject } from '../../base/index.ts';
import {
  agentTool,
  functionCalls,
  isToolset,
  llmAgent,
  ToolError,
  type Agent,
  type Instruction,
  type Model,
  type Tool,
  type Toolset,
} from '../../agent/index.ts';
import { remoteAgent } from '../../bridge/index.ts';
import { guarded, type GuardOptions } from '../approval/guard.ts';
import { DEFAULT_HELPER, TASK_TOOL } from '../approval/policy.ts';
import { matchesName } from '../files/glob-pattern.ts';
import { toolNames, type CoderTool, type Effect } from '../tools/tool.ts';
import { defineTool } from '../tools/define-tool.ts';
import { fullReason, isModelFailure, publicReason } from './failure.ts';
import { notices, type Notify } from './notices.ts';
import { noteUsage } from './usage.ts';
import type { HelperDefinition, LocalHelper, RemoteHelper } from '../helpers/definition.ts';

const Arguments = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .max(100_000)
    .describe(
      'Everything that the helper needs to know, because it does not see this conversation.',
    ),
  name: z.string().min(1).max(80).optional().describe('A short name of the job, which people see.'),
  helper: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'The name of the helper. Default: a helper with your tools, except web searches and task.',
    ),
});
type Arguments = z.infer<typeof Arguments>;

const Failure = z.object({ code: z.string(), message: z.string() });

const REPORT = `You are a helper of another agent. Do the job that you are given with your tools. Then report \
briefly and exactly what you found or did, because your answer is all that the other agent gets.`;

const DESCRIPTION = `Gives a job to a helper and returns the helper's report. The helper has its own context and, unless \
you name another helper, your tools, except web searches and task. Useful for searches and side jobs whose details are not needed in this \
conversation.`;

/** The key of the number of helpers that a run has started. */
const STARTED_KEY = 'temp:coder.helpers';
const MAX_STARTED = 32;
/** Maximum length of a helper's report, in characters. */
const MAX_REPORT = 200_000;

/**
 * Returns the displayed name of the agent or server behind a call. For a `task` call, this is the name of the helper,
 * or the name of the job if the call does not name a helper. If the call has neither name, it is the name of the
 * default helper. For any other call, it is the name of the MCP server whose tool is called.
 */
export function speakerOf(
  call: { readonly tool_name: string; readonly input_parameters: JsonObject } | undefined,
): string {
  if (call && call.tool_name !== TASK_TOOL) {
    return call.tool_name.split('__')[0] ?? DEFAULT_HELPER;
  }
  const { helper, name } = call?.input_parameters ?? {};
  for (const given of [helper, name]) {
    if (typeof given === 'string' && given.trim() !== '') return shortLine(given);
  }
  return DEFAULT_HELPER;
}

function shortLine(text: string): string {
  return cutText(text.trim().replaceAll(/\s+/g, ' '), 80);
}

export interface TaskToolOptions {
  /** The helpers with files. */
  readonly helpers: ReadonlyMap<string, HelperDefinition>;
  /** The instruction that all local helpers have in common. */
  readonly instruction: Instruction;
  /** The tools of the agent, without this tool and `web_search`. A helper gets no other tools. */
  readonly tools: readonly (Tool | Toolset)[];
  /** The model of the session. */
  readonly model: Model;
  /** Returns the model with this name. Throws a ModelError if there is no such model. */
  resolve(name: string): Model;
  /** Returns the agent of a remote helper. */
  readonly remote: (helper: RemoteHelper) => Agent;
  readonly guard: GuardOptions;
  readonly notify: Notify;
  /** Whether the agent serves a live session. */
  readonly isLive: boolean;
}

/** Creates the `task` tool, with the policy applied to it. */
export function taskTool(options: TaskToolOptions): Tool {
  const { helpers, guard } = options;
  const local = guarded(plainTaskTool(options), guard);
  const remote = guarded(plainTaskTool(options, 'network'), guard);
  const of = ({ helper }: JsonObject): Tool =>
    typeof helper === 'string' && helpers.get(helper)?.kind === 'remote' ? remote : local;
  return {
    ...local,
    confirm: async (args, context) => (await of(args).confirm?.(args, context)) ?? false,
    run: (args, context) => of(args).run(args, context),
  };
}

/** Creates the tool without the policy. */
export function plainTaskTool(options: TaskToolOptions, effect: Effect = 'talk'): CoderTool {
  const { helpers, notify, isLive } = options;

  function helperOf(name: string | undefined): HelperDefinition | undefined {
    const found = name === undefined ? undefined : helpers.get(name);
    if (found || name === undefined || name === DEFAULT_HELPER) return found;
    const known = [...helpers.keys()].join(', ') || 'none';
    throw new ToolError('not_found', `there is no helper ${name}; the helpers are: ${known}`);
  }

  function toolOf(name: string | undefined): Tool {
    const helper = helperOf(name);
    return agentTool(helper?.kind === 'remote' ? options.remote(helper) : local(options, helper));
  }

  return defineTool({
    name: TASK_TOOL,
    description: descriptionWith([...helpers.values()]),
    input: Arguments,
    effect,
    describe: titleOf,
    preview(args) {
      const helper = helperOf(args.helper);
      const to = helper?.kind === 'remote' ? ` at ${helper.url}` : '';
      return { kind: 'generic', description: `Helper ${helper?.name ?? DEFAULT_HELPER}${to}` };
    },
    async run({ prompt, helper }, context) {
      if (!context.answer) {
        const started = Number(context.state.get(STARTED_KEY) ?? 0) + 1;
        if (started > MAX_STARTED) {
          const message = `not allowed: a turn starts at most ${MAX_STARTED} helpers`;
          throw new ToolError('denied', message);
        }
        context.state.set(STARTED_KEY, started);
      }
      try {
        const report = await toolOf(helper).run({ request: prompt }, context);
        return typeof report === 'string' ? cutText(report, MAX_REPORT) : report;
      } catch (error) {
        const failure = failureIn(error);
        if (!failure) throw error;
        // Clients see the error of the call, so only the person who runs the program gets the full reason.
        notify(notices.helperFailed(fullReason(failure, isLive)));
        const reason = REMOTE[failure.error.code] ?? publicReason(failure);
        throw new Error(`${helper ?? DEFAULT_HELPER} failed: ${reason}`, { cause: error });
      }
    },
    async cancel(callId, run) {
      const calls = run.events.flatMap(({ content }) => functionCalls(content));
      const call = calls.find(({ id, name }) => id === callId && name === TASK_TOOL);
      const args = Arguments.safeParse(call?.args).data;
      if (args) await toolOf(args.helper).cancel?.(callId, run);
    },
  });
}

function titleOf({ helper, name, prompt }: Arguments): string {
  const who = helper === undefined ? 'Helper' : `Helper ${shortLine(helper)}`;
  return `${who}: ${name ?? shortLine(prompt)}`;
}

function descriptionWith(helpers: readonly HelperDefinition[]): string {
  if (helpers.length === 0) return DESCRIPTION;
  const lines = helpers.map(({ name, description, kind }) => {
    const where = kind === 'remote' ? ' (a remote agent, without access to the workspace)' : '';
    return `- ${name}${where}: ${description}`;
  });
  return `${DESCRIPTION} The helpers that you can name:\n${lines.join('\n')}`;
}

/** Returns a helper that works in this process. Without a definition or a list of tools, it has all of `tools`. */
function local(options: TaskToolOptions, helper: LocalHelper | undefined): Agent {
  const { instruction, tools, notify } = options;
  let { model } = options;
  try {
    if (helper?.model !== undefined) model = options.resolve(helper.model);
  } catch (error) {
    notify(notices.helperFailed(error instanceof Error ? error.message : String(error)));
    const message = `the helper ${helper?.name} cannot be used: its model is not available`;
    throw new ToolError('not_found', message, { cause: error });
  }
  return llmAgent({
    name: helper?.name ?? DEFAULT_HELPER,
    description: helper?.description ?? 'Does one job in its own context.',
    instruction: async (context) => {
      const common = typeof instruction === 'string' ? instruction : await instruction(context);
      const role = helper ? [`# Your role\n\n${helper.text}`] : [];
      return [common, ...role, REPORT].join('\n\n');
    },
    model,
    tools: helper?.tools ? limited(tools, helper.tools) : tools,
    callbacks: noteUsage(model.name),
  });
}

/** Returns the tools whose names match one of the patterns. */
function limited(
  tools: readonly (Tool | Toolset)[],
  patterns: readonly string[],
): (Tool | Toolset)[] {
  const has = (tool: Tool): boolean =>
    toolNames(tool).some((name) => patterns.some((pattern) => matchesName(pattern, name)));
  return tools.flatMap((tool): (Tool | Toolset)[] => {
    if (!isToolset(tool)) return has(tool) ? [tool] : [];
    return [
      {
        name: tool.name,
        tools: async (signal) => (await tool.tools(signal)).filter(has),
        cancel: async (callId, run) => tool.cancel?.(callId, run),
      },
    ];
  });
}

/**
 * Returns a function that returns the agent of a remote helper. Recently used agents are kept, so that their cards are
 * not fetched again. `guardedFetch` is used for addresses in files of a workspace.
 */
export function remoteHelpers(guardedFetch: typeof fetch): (helper: RemoteHelper) => Agent {
  const agents = new BoundedMap<Agent>(64);
  return (helper) => {
    const { name, description, url, key, source } = helper;
    const id = JSON.stringify(helper);
    const agent =
      agents.get(id) ??
      remoteAgent({
        name,
        description,
        url,
        headers: (): Record<string, string> => {
          if (key === undefined) return {};
          const token = process.env[key];
          if (!token) throw new Error(`the environment variable ${key} is not set`);
          return { Authorization: `Bearer ${token}` };
        },
        // Addresses in the configuration folder come from the user. Addresses in a workspace may come from other
        // people, so they must not be in a private network.
        ...(source === 'workspace' && { fetch: guardedFetch }),
      });
    agents.set(id, agent);
    return agent;
  };
}

/** Returns the failure of the helper's model or of the connection, or undefined if the error has another cause. */
function failureIn(thrown: unknown): { readonly error: z.infer<typeof Failure> } | undefined {
  const error = Failure.safeParse(thrown instanceof Error ? thrown.cause : undefined).data;
  if (!error) return undefined;
  return isModelFailure({ error }) || Object.hasOwn(REMOTE, error.code) ? { error } : undefined;
}

/** The messages for failures of a connection, by their code. They contain no address and no other details. */
const REMOTE: Readonly<Record<string, string>> = {
  'remote-unreachable': 'the remote agent cannot be reached',
  'remote-unauthorized': 'the remote agent refused our credentials',
  'remote-untrusted': 'the remote agent refers to another address',
};
