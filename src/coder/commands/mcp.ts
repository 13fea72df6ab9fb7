/** /mcp: lists the MCP servers with their state, their tools, prompts and resources. */
import type { McpOverview } from '../session/mcp-tools.ts';
import type { CoderCommand } from './command.ts';
import { promptCommandName } from './mcp-prompts.ts';
import { lineOf } from './tools.ts';

/** Maximum number of resources of a server in the list. */
const MAX_RESOURCES = 50;

export const mcpCommand: CoderCommand = {
  name: 'mcp',
  description: 'Lists the MCP servers with their state, tools, prompts and resources.',
  async *run(_args, { agent, run }) {
    const servers = await agent.mcp.overview(run.signal);
    yield servers.map(describe).join('\n') || 'There are no MCP servers in the settings.';
  },
};

function describe({ name, tools, prompts, resources, problem }: McpOverview): string {
  if (problem !== undefined) return `${name}: not available (${problem})`;
  const more = resources.length - MAX_RESOURCES;
  return [
    `${name}: ready, ${tools.length} tools`,
    ...tools.map((tool) => `  ${lineOf(tool)}`),
    ...prompts.map((prompt) => `  /${promptCommandName(name, prompt.name)}: ${prompt.description}`),
    ...resources.slice(0, MAX_RESOURCES).map((each) => `  @${name}:${each.uri}: ${each.name}`),
    ...(more > 0 ? [`  and ${more} more resources`] : []),
  ].join('\n');
}
