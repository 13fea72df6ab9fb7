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
import { lineSafe } from '../../base/index.ts';
import { EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import { parseWith, type A2AError, type Call } from '../../protocol/index.ts';
import type { JsonRoute, OwnRoute, RouteReply, StreamRoute } from '../../http/index.ts';
import type { CommandService } from '../commands/service.ts';
import { sessionOwner } from '../session/session-owner.ts';
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
import { FlatEvents } from './flat-events.ts';
import { listMetadata, taskMetadata } from './task-metadata.ts';

export interface FlatApiOptions {
  readonly workspaces: WorkspaceAgents;
  readonly commands: CommandService;
}

/** The extension is active for requests of this API, because the flat events are made from the extension's events. */
const COMMON = { implies: [EXTENSION_URI], error: flatError };

export function flatRoutes({ workspaces, commands }: FlatApiOptions): OwnRoute[] {
  const createTask: JsonRoute = {
    ...COMMON,
    verb: 'POST',
    path: '/tasks',
    async handle({ body, call, handler }) {
      const { contextId, agentSettings } = parseWith(CreateTask, body ?? {}, 'body');
      const metadata = settingsMetadata(agentSettings);
      if (metadata) {
        // Without a context id, the task starts a new conversation.
        const owner = sessionOwner(call, contextId ?? randomUUIDv7());
        await workspaces.check(metadata, owner, { isReservation: true });
      }
      const { id } = await handler.reserveTask({ contextId, metadata }, call);
      return { status: 201, body: id };
    },
  };

  const streamMessage: StreamRoute = {
    ...COMMON,
    verb: 'POST',
    path: '/message/stream',
    async open({ body, call, handler }) {
      const request = parseWith(StreamMessage, body ?? {}, 'body');
      const { taskId } = request;
      // The settings of POST /tasks take precedence over the settings in the first message. If the settings differ, the
      // stream starts with the settings that apply.
      const task = taskId === undefined ? undefined : await handler.getTask({ id: taskId }, call);
      const settings =
        task && (await workspaces.overruling(settingsMetadata(request.agentSettings), task));
      const { agentSettings: _, ...withoutSettings } = request;
      const message = messageFrom(settings ? withoutSettings : request);
      // In version 1.0, a stream starts with the task, in its state before the message.
      const caller: Call = { user: call.user, version: '1.0', extensions: [EXTENSION_URI] };
      const stream = await handler.streamMessage({ message }, caller);
      const events = new FlatEvents({ known: taskId !== undefined, settings });
      return {
        stream,
        frame: ({ event, seq }) => framed(events.take(event), seq),
        failure: (error) => `data: ${lineSafe(JSON.stringify(flatError(error).body))}\n\n`,
      };
    },
  };

  const routes: JsonRoute[] = [
    createTask,
    {
      ...COMMON,
      verb: 'GET',
      path: '/tasks/{id}/metadata',
      async handle({ values, call, handler }) {
        const metadata = await taskMetadata(workspaces, handler, values['id'] ?? '', call);
        return { body: { metadata } };
      },
    },
    {
      ...COMMON,
      verb: 'GET',
      path: '/tasks/metadata',
      async handle({ query, call, handler }) {
        const page = parseWith(ListTasks, Object.fromEntries(query), 'query');
        const { tasks, next } = await listMetadata(workspaces, handler, page, call);
        if (tasks.length === 0) return { status: 204 };
        return {
          body: tasks,
          ...(next !== undefined && { headers: { link: nextPage(page, next) } }),
        };
      },
    },
    {
      ...COMMON,
      verb: 'GET',
      path: '/listCommands',
      async handle({ query, call }) {
        const place = commandPlace(parseWith(ListCommands, Object.fromEntries(query), 'query'));
        return { body: { commands: (await commands.list(place, call)).map(flatCommand) } };
      },
    },
    {
      ...COMMON,
      verb: 'POST',
      path: '/executeCommand',
      async handle({ body, call, handler }) {
        const request = parseWith(ExecuteCommand, body ?? {}, 'body');
        return { body: await executeCommand(commands, request, call, handler) };
      },
    },
  ];
  return [...routes, streamMessage];
}

/** Returns the `Link` header with the address of the next page. */
function nextPage({ limit }: { readonly limit: number }, cursor: string): string {
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
