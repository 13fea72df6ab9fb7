/**
 * The tool that transfers a conversation to another agent, and the instruction that explains to the model when to use
 * it.
 */
import type { Agent } from '../agent.ts';
import { TRANSFER_TOOL } from '../run/history.ts';
import type { RunScope } from '../run/run-context.ts';
import type { Tool } from '../tool.ts';
import { isConversational } from '../run/tree.ts';

/** Returns the tool, or an empty array if there is no agent to transfer to. */
export function transferTool(scope: RunScope): Tool[] {
  const names = targetsOf(scope).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      name: TRANSFER_TOOL,
      description:
        'Transfers the conversation to another agent, which continues it instead of you.',
      parameters: {
        type: 'object',
        properties: { agent_name: { type: 'string', enum: names } },
        required: ['agent_name'],
        additionalProperties: false,
      },
      run({ agent_name: name }, context) {
        if (typeof name !== 'string' || !names.includes(name)) {
          throw new Error(`agent_name must be one of: ${names.join(', ')}`);
        }
        context.transferTo(name);
      },
    },
  ];
}

export function transferText(scope: RunScope): string {
  const targets = targetsOf(scope);
  if (targets.length === 0) return '';
  const list = targets.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return [
    `You are the agent ${scope.agent.name}. These other agents can continue the conversation:\n${list}`,
    `If one of them is better suited to what the user wants, call ${TRANSFER_TOOL} and say nothing else.`,
  ].join('\n');
}

function targetsOf({ agent, inner }: RunScope): Agent[] {
  return isConversational(agent) ? inner.services.tree.transferTargets(agent) : [];
}
