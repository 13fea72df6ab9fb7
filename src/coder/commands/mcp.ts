/** /mcp: lists the MCP servers with their state and their tools. */
import type { McpStatus } from '../session/mcp-tools.ts';
import type { CoderCommand } from './command.ts';
import { lineOf } from './tools.ts';

export const mcpCommand: CoderCommand = {
  name: 'mcp',
  description: 'Lists the MCP servers with their state and their tools.',
  async *run(_args, { agent, run }) {
    const servers = await agent.mcp.status(run.signal);
    yield servers.map(describe).join('\n') || 'There are no MCP servers in the settings.';
  },
};

function describe({ name, tools, problem }: McpStatus): string {
  if (problem !== undefined) return `${name}: not available (${problem})`;
  const lines = tools.map((tool) => `  ${lineOf(tool)}`);
  return [`${name}: ready, ${tools.length} tools`, ...lines].join('\n');
}
