/**
 * The `task` tool: a helper does one job in a conversation of its own and reports. Its questions carry its name.
 */
import * as z from 'zod';
import {
  llmAgent,
  type Instruction,
  type Callbacks,
  type Tool,
  type Toolset,
  agentTool,
} from '../../agent/index.ts';
import type { CoderTool } from '../tools/tool.ts';
import { defineTool } from '../tools/define-tool.ts';

const Arguments = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .max(100_000)
    .describe('Everything the helper has to know: it sees nothing of this conversation.'),
  name: z.string().min(1).max(80).optional().describe('A short name for the job, for people.'),
});

const REPORT = `You are a helper of another agent. Do the job that you are given with your tools, then report what \
you found or did, briefly and exactly: your answer is all that the other agent gets.`;

export const HELPER = 'helper';

/** `tools` are the helper's tools. */
export function taskTool(
  instruction: Instruction,
  tools: readonly (Tool | Toolset)[],
  callbacks: Callbacks,
): CoderTool {
  const helper = llmAgent({
    name: HELPER,
    description: 'Does one job in a context of its own.',
    instruction: async (context) => {
      const common = typeof instruction === 'string' ? instruction : await instruction(context);
      return `${common}\n\n${REPORT}`;
    },
    tools,
    callbacks,
  });
  const inner = agentTool(helper);
  return defineTool({
    name: 'task',
    description:
      'Gives a job to a helper that has the same tools and a context of its own, and returns its report. Good for searches and side jobs whose details would only fill this conversation.',
    input: Arguments,
    effect: 'talk',
    describe: ({ name, prompt }) => `Helper: ${name ?? prompt.slice(0, 80)}`,
    run: ({ prompt }, context) => inner.run({ request: prompt }, context),
  });
}
