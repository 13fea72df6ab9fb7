/**
 * Tasks of several states and several agents as one list, newest first. The server returns one list for each state of
 * each agent. Each list is read page by page, with its own cursor. So the cost of a page does not depend on the number
 * of tasks.
 */
import { defined } from '../../../base/index.ts';
import * as z from 'zod';
import type { Task, TaskState } from '../../../protocol/index.ts';
import { EXTENSIONS, type Server } from '../server/server.ts';

/** The states of the tasks in each group. */
export const GROUPS = {
  'needs-you': ['input-required', 'auth-required'],
  running: ['working', 'submitted'],
  done: ['completed', 'failed', 'canceled', 'rejected'],
} as const satisfies Record<string, readonly TaskState[]>;
export type Group = keyof typeof GROUPS;
export const GROUP_NAMES = Object.keys(GROUPS) as Group[];

export interface InboxTask {
  /** The name of the agent behind the gateway, or an empty string for the server itself. */
  readonly agent: string;
  readonly task: Task;
}

export interface TaskFilter {
  readonly agents: readonly string[];
  readonly contextId: string | undefined;
  /** Only tasks whose status has changed since this time are listed. */
  readonly since: string | undefined;
}

interface Source {
  readonly agent: string;
  readonly state: TaskState;
  /** The tasks that have been read and are not in the merged list yet. */
  waiting: Task[];
  /** The cursor of the next page: an empty string before the first page, and undefined after the last page. */
  next: string | undefined;
}

const PAGE_SIZE = 50;

/** The number of tasks in each state, by the name of the agent. A state without tasks may be missing. */
export type TaskCounts = ReadonlyMap<string, Readonly<Record<string, number>>>;

export class MergedTasks {
  readonly #server: Server;
  readonly #filter: TaskFilter;
  readonly #sources: Source[];
  /** The tasks that `next` has merged for the current page. If `next` fails, its next call continues with them. */
  readonly #found: InboxTask[] = [];
  /** The number of tasks on all pages. It is 0 until the first page has been read. */
  total = 0;

  constructor(server: Server, group: Group, filter: TaskFilter, counts: TaskCounts) {
    this.#server = server;
    this.#filter = filter;
    // A list without tasks is not read, because an inbox of many agents has many such lists.
    this.#sources = filter.agents.flatMap((agent) =>
      GROUPS[group]
        .filter((state) => (counts.get(agent)?.[state] ?? 0) > 0)
        .map((state) => ({ agent, state, waiting: [], next: '' })),
    );
  }

  get more(): boolean {
    if (this.#found.length > 0) return true;
    return this.#sources.some(({ waiting, next }) => waiting.length > 0 || next !== undefined);
  }

  /** Reads the next page. After an error, the next call continues with the same page. */
  async next(signal: AbortSignal): Promise<InboxTask[]> {
    while (this.#found.length < PAGE_SIZE) {
      const empty = this.#sources.filter(
        ({ waiting, next }) => waiting.length === 0 && next !== undefined,
      );
      await Promise.all(empty.map((source) => this.#fill(source, signal)));
      const newest = this.#newest();
      if (!newest) break;
      this.#found.push({ agent: newest.agent, task: newest.waiting.shift()! });
    }
    return this.#found.splice(0);
  }

  #newest(): Source | undefined {
    let newest: Source | undefined;
    for (const source of this.#sources) {
      if (source.waiting.length === 0) continue;
      if (!newest || timeOf(source.waiting[0]!) > timeOf(newest.waiting[0]!)) newest = source;
    }
    return newest;
  }

  async #fill(source: Source, signal: AbortSignal): Promise<void> {
    const first = source.next === '';
    const page = await list(this.#server, this.#filter, source, { pageSize: PAGE_SIZE, signal });
    source.waiting = page.tasks;
    source.next = page.nextPageToken === '' ? undefined : page.nextPageToken;
    if (first) this.total += page.totalSize;
  }
}

const Inbox = z.object({
  items: z.array(
    z.looseObject({ agent: z.string(), states: z.record(z.string(), z.number()).optional() }),
  ),
});

/**
 * Counts the tasks of each agent by state. A gateway returns all counts in one response. If the server is an agent,
 * this function sends one request for each state.
 */
export async function countTasks(
  server: Server,
  filter: TaskFilter,
  signal: AbortSignal,
): Promise<TaskCounts> {
  if (server.kind === 'gateway') {
    const { items } = await readInbox(server, filter, { states: 'true' }, signal);
    return new Map(items.map(({ agent, states = {} }) => [agent, states]));
  }
  const states = Object.values(GROUPS).flat();
  const pages = states.map(async (state) => {
    const of = { agent: '', state, next: '' };
    return [state, (await list(server, filter, of, { pageSize: 1, signal })).totalSize] as const;
  });
  return new Map([['', Object.fromEntries(await Promise.all(pages))]]);
}

/** Returns the number of tasks in a group. */
export function totalOf(counts: TaskCounts, group: Group): number {
  const numbers = [...counts.values()].flatMap((ofAgent) =>
    GROUPS[group].map((state) => ofAgent[state] ?? 0),
  );
  return numbers.reduce((sum, number) => sum + number, 0);
}

async function readInbox(
  server: Server,
  { agents, contextId, since }: TaskFilter,
  more: Readonly<Record<string, string>>,
  signal: AbortSignal,
) {
  if (agents.length === 0) return { items: [] };
  const query = new URLSearchParams({
    agents: agents.join(','),
    ...defined({ contextId, since }),
    ...more,
  });
  return server.json(Inbox, `/a2a/inbox?${query}`, { signal });
}

/** Returns a text that changes when a task is added or removed, or when its status changes. Sends only one request. */
export async function markOfTasks(
  server: Server,
  filter: TaskFilter,
  signal: AbortSignal,
): Promise<string> {
  if (server.kind === 'gateway') {
    const { items } = await readInbox(server, filter, {}, signal);
    return JSON.stringify(items);
  }
  // This list contains the tasks of all states and starts with the task that changed last. So the first task and the
  // number of tasks show whether there was a change.
  const of = { agent: '', state: undefined, next: '' };
  const { tasks, totalSize } = await list(server, filter, of, { pageSize: 1, signal });
  const [newest] = tasks;
  const { state, timestamp } = newest?.status ?? {};
  return JSON.stringify([totalSize, newest?.id, state, timestamp]);
}

async function list(
  server: Server,
  { contextId, since }: TaskFilter,
  { agent, state, next }: Pick<Source, 'agent' | 'next'> & { state: TaskState | undefined },
  { pageSize, signal }: { readonly pageSize: number; readonly signal: AbortSignal },
) {
  const client = await server.client(agent);
  const pageToken = next === '' ? undefined : next;
  const filter = defined({ status: state, contextId, statusTimestampAfter: since, pageToken });
  return client.list({ pageSize, ...filter }, { extensions: EXTENSIONS, signal });
}

function timeOf({ status }: Task): string {
  return status.timestamp ?? '';
}
