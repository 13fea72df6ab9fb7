/**
 * The flat API: plain HTTP endpoints for the same tasks and sessions, for clients that do not use A2A.
 *
 *   POST /tasks                {contextId?, agentSettings?}                            201, the task's id
 *   POST /message/stream       {taskId?, contextId?, userMessage, agentSettings?}      events (flat-events.ts)
 *   GET  /tasks/{id}/metadata                                                          {metadata}
 *   GET  /tasks/metadata?limit=N&cursor=C                                              [metadata…], 204 without tasks
 *   GET  /listCommands?contextId=C&workspacePath=P                                     {commands}
 *   POST /executeCommand       {command, args[], contextId?, workspacePath?}           {name, data}
 *
 * A task created by POST /tasks is `submitted` until its first message, which may come through any API. An error is
 * `{error}`, with a `reason` and other details if there are any, and has the matching HTTP status. A message that the
 * task does not accept in its state, such as a late answer, gets 409.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Tool } from '../../agent/index.ts';
import { defined, lineSafe } from '../../base/index.ts';
import { EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import { A2AError, parseWith, type Call, type Task } from '../../protocol/index.ts';
import type { JsonRoute, OwnRoute, RouteReply } from '../../http/index.ts';
import type { CommandService } from '../commands/service.ts';
import { sessionOwner } from '../session/session-owner.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';
import {
  commandPlace,
  CreateTask,
  ExecuteCommand,
  ListCommands,
  ListTasks,
  messageFrom,
  settingsMetadata,
  StreamMessage,
} from './bodies.ts';
import { executeCommand, flatCommand } from './commands.ts';
import { flatEvents } from './flat-events.ts';

export interface FlatApiOptions {
  readonly workspaces: WorkspaceAgents;
  readonly commands: CommandService;
}

/** The extension is active for requests of this API, because the flat events are made from the extension's events. */
const COMMON = { implies: [EXTENSION_URI], error: flatError };

function jsonRoute(verb: JsonRoute['verb'], path: string, handle: JsonRoute['handle']): JsonRoute {
  return { ...COMMON, verb, path, handle };
}

export function flatRoutes({ workspaces, commands }: FlatApiOptions): OwnRoute[] {
  /**
   * Returns the metadata of a task for a list. It contains no tools, because most tasks of a list have the same tools.
   */
  async function listed({ id, contextId, status }: Task, call: Call) {
    const model = await workspaces.modelNames.of(sessionOwner(call, contextId));
    return { id, contextId, taskState: status.state, model };
  }

  return [
    jsonRoute('POST', '/tasks', async ({ body, call, handler }) => {
      const { contextId, agentSettings } = parseWith(CreateTask, body ?? {}, 'body');
      const metadata = settingsMetadata(agentSettings);
      if (metadata) {
        // Without a context id, the task starts a new conversation.
        const owner = sessionOwner(call, contextId ?? randomUUIDv7());
        await workspaces.check(metadata, owner, { isReservation: true });
      }
      const { id } = await handler.reserveTask({ contextId, metadata }, call);
      return { status: 201, body: id };
    }),
    jsonRoute('GET', '/tasks/{id}/metadata', async ({ values, call, handler }) => {
      const task = await handler.getTask({ id: values['id'] ?? '' }, call);
      const acquired = await acquireFor(workspaces, task, call);
      // While the agent is held, the server does not close it to open the agent of another workspace.
      using _held = acquired?.hold();
      const around = acquired
        ? await surroundings(acquired.agent, call)
        : { mcpServers: [], availableTools: [] };
      return { body: { metadata: { ...(await listed(task, call)), ...around } } };
    }),
    // The most recently changed tasks come first.
    jsonRoute('GET', '/tasks/metadata', async ({ query, call, handler }) => {
      const { limit, cursor } = parseWith(ListTasks, Object.fromEntries(query), 'query');
      const page = { pageSize: limit, ...defined({ pageToken: cursor }) };
      const { tasks, nextPageToken } = await handler.listTasks(page, call, { total: false });
      if (tasks.length === 0) return { status: 204 };
      const body: Awaited<ReturnType<typeof listed>>[] = [];
      for (const task of tasks) body.push(await listed(task, call));
      if (nextPageToken === '') return { body };
      return { body, headers: { link: nextPage(limit, nextPageToken) } };
    }),
    jsonRoute('GET', '/listCommands', async ({ query, call }) => {
      const place = commandPlace(parseWith(ListCommands, Object.fromEntries(query), 'query'));
      return { body: { commands: (await commands.list(place, call)).map(flatCommand) } };
    }),
    jsonRoute('POST', '/executeCommand', async ({ body, call, handler }) => {
      const request = parseWith(ExecuteCommand, body ?? {}, 'body');
      return { body: await executeCommand(commands, request, call, handler) };
    }),
    {
      ...COMMON,
      verb: 'POST',
      path: '/message/stream',
      async open({ body, call, handler }) {
        const request = parseWith(StreamMessage, body ?? {}, 'body');
        const { taskId } = request;
        // The settings of POST /tasks take precedence over the settings in the first message. If the settings differ,
        // the stream starts with the settings that apply.
        const task = taskId === undefined ? undefined : await handler.getTask({ id: taskId }, call);
        const settings =
          task && (await workspaces.overruling(settingsMetadata(request.agentSettings), task));
        const { agentSettings: _, ...withoutSettings } = request;
        const message = messageFrom(settings ? withoutSettings : request);
        // In version 1.0, a stream starts with the task, in its state before the message.
        const caller: Call = { user: call.user, version: '1.0', extensions: [EXTENSION_URI] };
        const stream = await handler.streamMessage({ message }, caller);
        const convert = flatEvents({ known: taskId !== undefined, settings });
        return {
          stream,
          frame: ({ event, seq }) => framed(convert(event), seq),
          failure: (error) => `data: ${lineSafe(JSON.stringify(flatError(error).body))}\n\n`,
        };
      },
    },
  ];
}

/** Returns the `Link` header with the address of the next page. */
function nextPage(limit: number, cursor: string): string {
  const query = new URLSearchParams({ limit: String(limit), cursor });
  return `</tasks/metadata?${query.toString()}>; rel="next"`;
}

/** Encodes the events of one log entry as SSE. The last event has the sequence number of the entry as its SSE id. */
function framed(events: readonly object[], seq: number | undefined): string {
  return events
    .map((event, at) => {
      const id = seq !== undefined && at === events.length - 1 ? `id: ${seq}\n` : '';
      return `${id}data: ${lineSafe(JSON.stringify(event))}\n\n`;
    })
    .join('');
}

function flatError({ kind, message, httpStatus, detail }: A2AError): RouteReply {
  const { reason, info } = detail;
  return {
    status: kind === 'unsupportedOperation' ? 409 : httpStatus,
    body: { error: message, ...(reason !== undefined && { reason }), ...info },
  };
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
