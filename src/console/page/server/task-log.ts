/**
 * Reads the log of a task with `GET /tasks/ID/events`, which returns the events of the task page by page, in the format
 * of one protocol version.
 */
import * as z from 'zod';
import {
  codecOf,
  type LogEntry,
  type ProtocolVersion,
  type Task,
} from '../../../protocol/index.ts';
import { EXTENSION_HEADERS, type Server } from './server.ts';

const RawPage = z.object({
  events: z.array(z.object({ seq: z.int(), event: z.unknown() })),
  nextAfter: z.int().optional(),
});
type RawPage = z.infer<typeof RawPage>;

/** A task, and the name of its agent behind the gateway. The name is empty if the task belongs to the server itself. */
export interface TaskPlace {
  readonly agent: string;
  readonly taskId: string;
}

/** An entry of the log, in the format of one protocol version. */
export type RawEntry = RawPage['events'][number];

interface LogQuery extends TaskPlace {
  readonly version: ProtocolVersion;
  /** The sequence number of the last entry that the page already has. */
  readonly after: number;
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Reads one page of the log. */
async function readLogPage(server: Server, query: LogQuery): Promise<RawPage> {
  const { agent, taskId, version, after, limit, signal } = query;
  const prefix = server.pathOf(agent) + (version === '0.3' ? '/v1' : '');
  const search = new URLSearchParams({ after: String(after) });
  if (limit !== undefined) search.set('limit', String(limit));
  const path = `${prefix}/tasks/${encodeURIComponent(taskId)}/events?${search}`;
  return server.json(RawPage, path, { headers: EXTENSION_HEADERS, signal });
}

/** Yields the pages of the log after the entry `after`, in the format for clients of this version. */
export async function* readLog(server: Server, query: LogQuery): AsyncGenerator<RawEntry[]> {
  for (let after: number | undefined = query.after; after !== undefined;) {
    const page: RawPage = await readLogPage(server, { ...query, after });
    yield page.events;
    after = page.nextAfter;
  }
}

/** Returns the entry with its event in the internal format. */
export function decoded({ seq, event }: RawEntry, version: ProtocolVersion): LogEntry {
  const shown = codecOf(version, 'JSONRPC').decodeEvent(event);
  if (shown.kind === 'message') throw new TypeError('The log of a task contains a message');
  return { seq, event: shown };
}

/**
 * Returns the task in the first event of the log, with the person's first message. Returns undefined if the first event
 * is not a task.
 */
export async function readOpening(
  server: Server,
  place: TaskPlace,
  signal?: AbortSignal,
): Promise<Task | undefined> {
  const { version } = (await server.client(place.agent)).endpoint;
  const page = await readLogPage(server, { ...place, version, after: 0, limit: 1, signal });
  const [first] = page.events.map((entry) => decoded(entry, version).event);
  return first?.kind === 'task' ? first : undefined;
}
