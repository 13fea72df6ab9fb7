/** Metadata of a task: its state, model and available tools. */
import type { JsonObject } from '../../base/index.ts';
import type { Tool } from '../../agent/index.ts';
import { A2AError, type Call, type Task, type TaskState } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';

interface ToolInfo {
  readonly name: string;
  readonly description: string;
  readonly parameterSchema: JsonObject;
}

interface ServerInfo {
  readonly name: string;
  readonly status: 'connected' | 'disconnected';
  readonly tools: readonly ToolInfo[];
}

interface Surroundings {
  readonly mcpServers: readonly ServerInfo[];
  readonly availableTools: readonly ToolInfo[];
}

/** A task in a list. It has no tools, because most tasks of a list have the same tools. */
export interface ListedTask {
  readonly id: string;
  readonly contextId: string;
  readonly taskState: TaskState;
  readonly model: string;
}

export interface TaskMetadata extends ListedTask, Surroundings {}

export async function taskMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  id: string,
  call: Call,
): Promise<TaskMetadata> {
  const task = await handler.getTask({ id }, call);
  const agent = await agentFor(workspaces, task, call);
  const around = agent ? await surroundings(agent, call) : { mcpServers: [], availableTools: [] };
  return { ...(await listed(workspaces, task, call)), ...around };
}

/** Returns a page of tasks, the most recently changed first, and the cursor of the next page. */
export async function listMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  { limit: pageSize, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  call: Call,
): Promise<{ readonly tasks: readonly ListedTask[]; readonly next: string | undefined }> {
  const page = { pageSize, ...(cursor !== undefined && { pageToken: cursor }) };
  const { tasks, nextPageToken: next } = await handler.listTasks(page, call, { total: false });
  const all: ListedTask[] = [];
  for (const task of tasks) all.push(await listed(workspaces, task, call));
  return { tasks: all, next: next === '' ? undefined : next };
}

async function listed(workspaces: WorkspaceAgents, task: Task, call: Call): Promise<ListedTask> {
  const { id, contextId, status } = task;
  const model = await workspaces.modelNames.of(placeOf(task, call));
  return { id, contextId, taskState: status.state, model };
}

/** Returns the agent of a task, or undefined if its workspace no longer exists or is no longer allowed. */
async function agentFor(
  workspaces: WorkspaceAgents,
  task: Task,
  call: Call,
): Promise<WorkspaceAgent | undefined> {
  try {
    return (await workspaces.acquire(placeOf(task, call))).agent;
  } catch (error) {
    if (error instanceof A2AError) return undefined;
    throw error;
  }
}

function placeOf(task: Task, { user }: Call) {
  return { user, tenant: user?.tenant ?? '', contextId: task.contextId, task };
}

async function surroundings(agent: WorkspaceAgent, { signal }: Call): Promise<Surroundings> {
  const until = signal ?? new AbortController().signal;
  const [servers, own] = await Promise.all([agent.mcp.status(until), agent.own.tools(until)]);
  const mcpServers = servers.map(({ name, tools, problem }) => ({
    name,
    status: problem === undefined ? ('connected' as const) : ('disconnected' as const),
    tools: tools.map(infoOf),
  }));
  const all = [
    ...[...agent.tools, ...own].map(infoOf),
    ...mcpServers.flatMap(({ tools }) => tools),
  ];
  return { mcpServers, availableTools: all };
}

function infoOf({ name, description, parameters }: Tool): ToolInfo {
  return { name, description, parameterSchema: parameters };
}
