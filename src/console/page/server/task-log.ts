/** Reads the log of a task: `GET /tasks/ID/events`, which has all events of the task in the shape of either version. */
import * as z from 'zod';
import {
  codecOf,
  type LogEntry,
  type ProtocolVersion,
  type Task,
  type TaskEvent,
} from '../../../protocol/index.ts';
import { EXTENSION_HEADERS, type Server } from './server.ts';

const RawPage = z.object({
  events: z.array(z.object({ seq: z.int(), event: z.unknown() })),
  nextAfter: z.int().optional(),
});

/** An entry of the log as it is sent to a client. */
export interface RawEntry {
  readonly seq: number;
  readonly event: unknown;
}

interface LogQuery {
  readonly agent: string;
  readonly taskId: string;
  readonly version: ProtocolVersion;
  /** The number of the last entry that is known. */
  readonly after: number;
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Reads one page of the log. */
export async function readLogPage(
  server: Server,
  query: LogQuery,
): Promise<z.infer<typeof RawPage>> {
  const { agent, taskId, version, after, limit, signal } = query;
  const prefix = server.pathOf(agent) + (version === '0.3' ? '/v1' : '');
  const search = new URLSearchParams({ after: String(after) });
  if (limit !== undefined) search.set('limit', String(limit));
  const path = `${prefix}/tasks/${encodeURIComponent(taskId)}/events?${search}`;
  return server.json(RawPage, path, { headers: EXTENSION_HEADERS, signal });
}

/** Yields the entries after `after`, as they are sent to clients of this version. */
export async function* readLog(server: Server, query: LogQuery): AsyncGenerator<RawEntry[]> {
  for (let after: number | undefined = query.after; after !== undefined;) {
    const page: z.infer<typeof RawPage> = await readLogPage(server, { ...query, after });
    yield page.events;
    after = page.nextAfter;
  }
}

/** Returns the entry with the page's own shape of the event. */
export function decoded({ seq, event }: RawEntry, version: ProtocolVersion): LogEntry {
  return { seq, event: taskEvent(codecOf(version, 'JSONRPC').decodeEvent(event)) };
}

function taskEvent(event: ReturnType<ReturnType<typeof codecOf>['decodeEvent']>): TaskEvent {
  if (event.kind === 'message') throw new TypeError('The log of a task contains a message');
  return event;
}

/** Returns the task as it began, with the person's first message. */
export async function readOpening(
  server: Server,
  agent: string,
  taskId: string,
  signal?: AbortSignal,
): Promise<Task | undefined> {
  const { endpoint } = await server.client(agent);
  const { version } = endpoint;
  const page = await readLogPage(server, { agent, taskId, version, after: 0, limit: 1, signal });
  const [first] = page.events.map((entry) => decoded(entry, version).event);
  return first?.kind === 'task' ? first : undefined;
}
