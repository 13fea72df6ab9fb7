/** /tools: lists the tools. */
import type { Tool } from '../../agent/index.ts';
import type { CoderCommand } from './command.ts';

export const toolsCommand: CoderCommand = {
  name: 'tools',
  description: 'Lists the tools that the model can call.',
  async *run(_args, { agent, run }) {
    const sets = await Promise.all([agent.own, agent.mcp].map((set) => set.tools(run.signal)));
    const tools = [...agent.tools, ...sets.flat()];
    yield tools.map(lineOf).join('\n');
  },
};

/** Returns a tool's name and the first sentence of its description. */
export function lineOf({ name, description }: Tool): string {
  const [sentence = ''] = description.split(/(?<=\.)\s|\n/, 1);
  return `${name}: ${sentence}`;
}
