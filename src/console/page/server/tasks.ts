/**
 * Reads the log of a task with `GET /tasks/ID/events`, which returns the events of the task page by page, in the format
 * of one protocol version. Sends the actions of a person on a task: answer, cancel, and send the first message again.
 */
import * as z from 'zod';
import { defined } from '../../../base/index.ts';
import { EXTENSION_HEADERS, type Server, EXTENSIONS } from './server.ts';
import {
  codecOf,
  type LogEntry,
  type ProtocolVersion,
  type Task,
  A2AError,
  uuidv7,
  type Message,
  type Metadata,
  type Part,
} from '../../../protocol/index.ts';

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
  /** The cursor: only the entries after this sequence number are read. */
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

/** Makes the server answer at once. The page then follows the task. */
const AT_ONCE = { blocking: false } as const;

/** Sends the answer to a task's question. Does not wait for the result. */
export async function sendToTask(
  server: Server,
  { agent, taskId }: TaskPlace,
  parts: readonly Part[],
): Promise<void> {
  const client = await server.client(agent);
  await client.send(parts, { taskId, configuration: AT_ONCE, extensions: EXTENSIONS });
}

export async function cancelTask(server: Server, { agent, taskId }: TaskPlace): Promise<Task> {
  const client = await server.client(agent);
  return client.cancel(taskId, { extensions: EXTENSIONS });
}

/**
 * Sends the first message of a task again, in the same conversation. Returns the id of the new task, or undefined if
 * the agent answered with a Message.
 */
export async function sendAgain(server: Server, place: TaskPlace): Promise<string | undefined> {
  const opening = await readOpening(server, place);
  const first = opening?.history?.find(({ role }) => role === 'user');
  if (!opening || !first) {
    throw new A2AError('unsupportedOperation', 'The task has no message that could be sent again');
  }
  const { taskId: _, ...copied } = first;
  const message: Message = { ...copied, messageId: uuidv7(), contextId: opening.contextId };
  const metadata = settingsIn(opening.metadata);
  const client = await server.client(place.agent);
  const options = { configuration: AT_ONCE, extensions: EXTENSIONS, ...defined({ metadata }) };
  const result = await client.send(message, options);
  return result.kind === 'task' ? result.id : undefined;
}

/** Returns whether this key may answer, cancel and send tasks of the agent. */
export function mayWrite(server: Server, agent: string): boolean {
  return server.may(agent === '' ? 'tasks:write' : 'agents:use');
}

/**
 * Returns the metadata of a task without the fields that the server adds or replaces. The other fields must be sent
 * again, because the gateway uses them to choose a model or an agent.
 */
function settingsIn(metadata: Metadata | undefined): Metadata | undefined {
  if (!metadata) return undefined;
  const entries = Object.entries(metadata).filter(
    ([name]) => name !== 'expiresAt' && name !== 'usage' && !name.startsWith('parley.'),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
