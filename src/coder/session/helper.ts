/**
 * The `task` tool, which gives a job to a helper. The helper works in its own conversation and returns a report. Users
 * see the helper's calls, thoughts and questions with the helper's name.
 */
import * as z from 'zod';
import type { JsonObject } from '../../base/index.ts';
import {
  llmAgent,
  type Instruction,
  type Model,
  type Tool,
  type Toolset,
  agentTool,
} from '../../agent/index.ts';
import type { CoderTool } from '../tools/tool.ts';
import { defineTool } from '../tools/define-tool.ts';
import { fullReason, isModelFailure, publicReason } from './failure.ts';
import { helperFailed, type Notify } from './notices.ts';
import { noteUsage } from './usage.ts';

const Arguments = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .max(100_000)
    .describe(
      'Everything that the helper needs to know, because it does not see this conversation.',
    ),
  name: z.string().min(1).max(80).optional().describe('A short name of the job, which people see.'),
});

const Failure = z.object({ code: z.string(), message: z.string() });
type EventError = z.infer<typeof Failure>;

const REPORT = `You are a helper of another agent. Do the job that you are given with your tools. Then report \
briefly and exactly what you found or did, because your answer is all that the other agent gets.`;

const HELPER = 'helper';
const TASK = 'task';

/**
 * Returns the displayed name of the agent or server behind a call. For a `task` call, this is the name of the helper.
 * For any other call, it is the name of the MCP server whose tool is called.
 */
export function speakerOf(
  call: { readonly tool_name: string; readonly input_parameters: JsonObject } | undefined,
): string {
  if (call && call.tool_name !== TASK) return call.tool_name.split('__')[0] ?? HELPER;
  const name = call?.input_parameters['name'];
  return typeof name === 'string' && name.trim() !== '' ? oneLine(name) : HELPER;
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').slice(0, 80);
}

/** Creates the `task` tool. `tools` are the tools that the helper may use, and `model` is the helper's model. */
export function taskTool(
  instruction: Instruction,
  tools: readonly (Tool | Toolset)[],
  model: Model,
  notify: Notify,
): CoderTool {
  const helper = llmAgent({
    name: HELPER,
    description: 'Does one job in its own context.',
    instruction: async (context) => {
      const common = typeof instruction === 'string' ? instruction : await instruction(context);
      return `${common}\n\n${REPORT}`;
    },
    model,
    tools,
    callbacks: noteUsage(model.name),
  });
  const inner = agentTool(helper);
  return defineTool({
    name: TASK,
    description:
      "Gives a job to a helper and returns the helper's report. The helper has the same tools, but its own context. Useful for searches and side jobs whose details are not needed in this conversation.",
    input: Arguments,
    effect: 'talk',
    describe: ({ name, prompt }) => `Helper: ${name ?? prompt.slice(0, 80)}`,
    async run({ prompt }, context) {
      try {
        return await inner.run({ request: prompt }, context);
      } catch (error) {
        const failure = modelFailureIn(error);
        if (!failure) throw error;
        // Clients see the error of the call, so only the person who runs the program gets the full reason.
        notify(helperFailed(fullReason(failure)));
        throw new Error(`${HELPER} failed: ${publicReason(failure)}`, { cause: error });
      }
    },
    cancel: async (callId, run) => inner.cancel?.(callId, run),
  });
}

/** Returns the failure of the helper's model, or undefined if the error has another cause. */
function modelFailureIn(error: unknown): { readonly error: EventError } | undefined {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const known = Failure.safeParse(cause).data;
  return known && isModelFailure({ error: known }) ? { error: known } : undefined;
}
