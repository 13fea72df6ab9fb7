/** Metadata of a task: its state, its model, the MCP servers and the available tools. */
import type * as z from 'zod';
import type { Tool } from '../../agent/index.ts';
import { defined } from '../../base/index.ts';
import { A2AError, type Call, type Task } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import { sessionOwner } from '../session/session-owner.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';
import type { ListTasks } from './bodies.ts';

export async function taskMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  id: string,
  call: Call,
) {
  const task = await handler.getTask({ id }, call);
  const acquired = await acquireFor(workspaces, task, call);
  // While the agent is held, the server does not close it to open the agent of another workspace.
  using _held = acquired?.hold();
  const around = acquired
    ? await surroundings(acquired.agent, call)
    : { mcpServers: [], availableTools: [] };
  return { ...(await listed(workspaces, task, call)), ...around };
}

/** Returns a page of tasks, the most recently changed first, and the cursor of the next page. */
export async function listMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  { limit: pageSize, cursor: pageToken }: z.infer<typeof ListTasks>,
  call: Call,
) {
  const page = { pageSize, ...defined({ pageToken }) };
  const { tasks, nextPageToken: next } = await handler.listTasks(page, call, { total: false });
  const all: Awaited<ReturnType<typeof listed>>[] = [];
  for (const task of tasks) all.push(await listed(workspaces, task, call));
  return { tasks: all, next: next === '' ? undefined : next };
}

/** Returns a task for a list. The entry has no tools, because most tasks of a list have the same tools. */
async function listed(workspaces: WorkspaceAgents, { id, contextId, status }: Task, call: Call) {
  const model = await workspaces.modelNames.of(sessionOwner(call, contextId));
  return { id, contextId, taskState: status.state, model };
}

/**
 * Acquires the agent of a task. Returns undefined if it cannot be opened, for example because its workspace no longer
 * exists.
 */
async function acquireFor(workspaces: WorkspaceAgents, task: Task, call: Call) {
  try {
    return await workspaces.acquire({ ...sessionOwner(call, task.contextId), task });
  } catch (error) {
    if (error instanceof A2AError) return undefined;
    throw error;
  }
}

async function surroundings(agent: WorkspaceAgent, { signal }: Call) {
  const until = signal ?? new AbortController().signal;
  const [servers, own] = await Promise.all([agent.mcp.status(until), agent.own.tools(until)]);
  const mcpServers = servers.map(({ name, tools, problem }) => ({
    name,
    status: problem === undefined ? 'connected' : 'disconnected',
    tools: tools.map(infoOf),
  }));
  const availableTools = [
    ...[...agent.tools, ...own].map(infoOf),
    ...mcpServers.flatMap(({ tools }) => tools),
  ];
  return { mcpServers, availableTools };
}

function infoOf({ name, description, parameters }: Tool) {
  return { name, description, parameterSchema: parameters };
}
