/** Metadata of a task: its state, model and available tools. */
import type { JsonObject } from '../../base/index.ts';
import type { Tool } from '../../agent/index.ts';
import { A2AError, type Call, type Task, type TaskState } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';

/** Maximum number of tasks in a list. The most recently changed tasks are listed. */
const MAX_LISTED = 100;
/**
 * A history length that requests the complete history. It is needed because the settings are in one of the messages.
 */
const WHOLE_HISTORY = 1_000_000;

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

export interface TaskMetadata extends Surroundings {
  readonly id: string;
  readonly contextId: string;
  readonly taskState: TaskState;
  readonly model: string;
}

export async function taskMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  id: string,
  call: Call,
): Promise<TaskMetadata> {
  return describer(workspaces, call)(await handler.getTask({ id }, call));
}

export async function listMetadata(
  workspaces: WorkspaceAgents,
  handler: RequestHandler,
  call: Call,
): Promise<TaskMetadata[]> {
  const describe = describer(workspaces, call);
  const page = { pageSize: MAX_LISTED, historyLength: WHOLE_HISTORY };
  const { tasks } = await handler.listTasks(page, call);
  const all: TaskMetadata[] = [];
  for (const task of tasks) all.push(await describe(task));
  return all;
}

/** Returns a function that describes a task. It looks up the tools of each workspace only once. */
function describer(workspaces: WorkspaceAgents, call: Call): (task: Task) => Promise<TaskMetadata> {
  const known = new Map<WorkspaceAgent, Promise<Surroundings>>();
  return async (task) => {
    const { id, contextId, status } = task;
    const agent = await agentFor(workspaces, task, call);
    let around: Promise<Surroundings> | undefined = agent && known.get(agent);
    if (agent && !around) known.set(agent, (around = surroundings(agent, call)));
    return {
      id,
      contextId,
      taskState: status.state,
      model: await workspaces.modelNames.of(placeOf(task, call)),
      ...((await around) ?? { mcpServers: [], availableTools: [] }),
    };
  };
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
  const servers = await agent.mcp.status(signal ?? new AbortController().signal);
  const mcpServers = servers.map(({ name, tools, problem }) => ({
    name,
    status: problem === undefined ? ('connected' as const) : ('disconnected' as const),
    tools: tools.map(infoOf),
  }));
  const all = [...agent.tools.map(infoOf), ...mcpServers.flatMap(({ tools }) => tools)];
  return { mcpServers, availableTools: all };
}

function infoOf({ name, description, parameters }: Tool): ToolInfo {
  return { name, description, parameterSchema: parameters };
}
