import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../../../protocol/index.ts';
import type { Server } from '../server/server.ts';

// The modules of the page read these when they are loaded.
Object.assign(globalThis, {
  location: { href: 'http://localhost/console' },
  document: { querySelector: () => null },
});
const { MergedTasks } = await import('./merged-tasks.ts');

const { signal } = new AbortController();
const FILTER = { agents: [''], contextId: undefined, since: undefined };

/** The tasks of one state, the newest first. Two states never have the same time. */
function tasksOf(state: 'working' | 'submitted', count: number): Task[] {
  return Array.from({ length: count }, (_, at) => {
    const time = 2 * (1000 - at) + (state === 'working' ? 1 : 0);
    const timestamp = new Date(time).toISOString();
    return { kind: 'task', id: `${state}-${at}`, contextId: 'c', status: { state, timestamp } };
  });
}

/** A server with these tasks. `fails` is called before each request, and may throw. */
function serverOf(tasks: Record<string, Task[]>, fails: () => void = () => undefined): Server {
  const list = async ({ status = '', pageSize = 0, pageToken = '0' }) => {
    fails();
    const all = tasks[status] ?? [];
    const end = Number(pageToken) + pageSize;
    const nextPageToken = end < all.length ? String(end) : '';
    return { tasks: all.slice(Number(pageToken), end), totalSize: all.length, nextPageToken };
  };
  return { kind: 'agent', client: async () => ({ list }) } as unknown as Server;
}

const TASKS = { working: tasksOf('working', 60), submitted: tasksOf('submitted', 60) };
const COUNTS = new Map([['', { working: 60, submitted: 60 }]]);

async function idsOf(merged: InstanceType<typeof MergedTasks>): Promise<string[]> {
  const ids: string[] = [];
  while (merged.more) ids.push(...(await merged.next(signal)).map(({ task }) => task.id));
  return ids;
}

test('the tasks of several states are one list, the newest first', async () => {
  const merged = new MergedTasks(serverOf(TASKS), 'running', FILTER, COUNTS);
  const ids = await idsOf(merged);
  assert.equal(merged.total, 120);
  assert.deepEqual(
    ids,
    TASKS.working.flatMap(({ id }, at) => [id, TASKS.submitted[at]?.id]),
  );
});

test('no task is left out after a page could not be read', async () => {
  let requests = 0;
  const server = serverOf(TASKS, () => {
    requests += 1;
    if (requests === 3) throw new Error('unreachable');
  });
  const merged = new MergedTasks(server, 'running', FILTER, COUNTS);
  const first = await merged.next(signal);
  await assert.rejects(merged.next(signal), /unreachable/);
  const others = await idsOf(merged);
  assert.equal(new Set(first.map(({ task }) => task.id).concat(others)).size, 120);
});
