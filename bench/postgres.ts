/**
 * Durable appends to PostgreSQL: 32 writers, each with a task of its own, through the event log and the store, and the
 * same statement through the bare driver. PostgreSQL syncs every commit to the disk. All numbers are wall time.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Task, TaskStatusUpdateEvent } from '../src/protocol/index.ts';
import { APPEND, columnsOf } from '../src/store/postgres/append.ts';
import { postgresStore } from '../src/store/postgres/postgres-store.ts';
import { EventLog } from '../src/tasks/log/event-log.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { cancelLag, readerLag, twoNodes } from './cluster.ts';
import { largeStore } from './large-store.ts';
import { compare, type Row } from './measure.ts';

const WRITERS = 32;
const CONNECTIONS = 10;
const ROUNDS = 5;
const SCOPE = { tenant: '', owner: 'bench' };
/** The CPU time of both would be that of this process, with the writers. */
const noCpu = () => undefined;
const logger = { debug() {}, info() {}, warn() {}, error: console.error };

function newTask(): Task {
  return { kind: 'task', id: randomUUID(), contextId: 'bench', status: { state: 'working' } };
}

function textEvent(taskId: string): TaskStatusUpdateEvent {
  const parts = [{ kind: 'text' as const, text: 'The next few words of an answer.' }];
  const message = { kind: 'message' as const, messageId: taskId, role: 'agent' as const, parts };
  const status = { state: 'working' as const, message };
  return { kind: 'status-update', taskId, contextId: 'bench', status, final: false };
}

/** Runs the writers at the same time. Each appends `appends` times. */
async function writers(
  appends: number,
  size: number,
  write: (writer: number) => Promise<void>,
): Promise<number> {
  const one = async (writer: number) => {
    for (let n = 0; n < appends; n++) await write(writer);
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => one(writer)));
  return WRITERS * appends * size;
}

async function measured(
  url: string,
  size: number,
  appends: number,
): Promise<Record<string, number>> {
  const store = await postgresStore(url, { poolSize: CONNECTIONS, logger });
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  try {
    const log = new EventLog(store, logger);
    const ours = async () => {
      const lives = Array.from({ length: WRITERS }, () => log.create(SCOPE, newTask()));
      await Promise.all(lives.map((live) => live.whenStored(1)));
      const each = (writer: number) => {
        const live = lives[writer]!;
        for (let n = 0; n < size; n++) void log.append(live, textEvent(live.taskId));
        return live.whenStored(live.seq);
      };
      const events = await writers(appends, size, each);
      for (const live of lives) live[Symbol.dispose]();
      return events;
    };
    const bare = async () => {
      const tasks = Array.from({ length: WRITERS }, () => ({ id: newTask().id, seq: 0 }));
      const write = async (
        task: { id: string; seq: number },
        events: readonly (Task | TaskStatusUpdateEvent)[],
      ) => {
        const entries = events.map((event, at) => ({ seq: task.seq + at + 1, event }));
        const append = {
          ...SCOPE,
          taskId: task.id,
          contextId: 'bench',
          expected: task.seq,
          entries,
        };
        const values = [null, ...columnsOf([{ ...append, scope: 1, position: 0 }])];
        task.seq += events.length;
        const { rows } = await pool.query({ ...APPEND, values, rowMode: 'array' });
        if (rows[0]?.[0] !== '1') throw new Error(`the append to ${task.id} was refused`);
      };
      await Promise.all(tasks.map((task) => write(task, [{ ...newTask(), id: task.id }])));
      return writers(appends, size, (writer) => {
        const task = tasks[writer]!;
        return write(
          task,
          Array.from({ length: size }, () => textEvent(task.id)),
        );
      });
    };
    const costs = await compare(ROUNDS, [
      { subject: { name: 'bare', cpu: noCpu }, run: bare },
      { subject: { name: 'parley', cpu: noCpu }, run: ours },
    ]);
    return Object.fromEntries([...costs].map(([name, { wallUs }]) => [name, wallUs]));
  } finally {
    await pool.end();
    await store.close();
  }
}

/** Returns the goal: a rate, or a part of the rate of the bare driver in the same run. */
function goal(values: Record<string, number>, rate: number, part: number): Row['goal'] {
  const ours = values['parley'] ?? Infinity;
  const byRate = (ours * rate) / 1e6;
  const byPart = (ours * part) / (values['bare'] ?? 0);
  const text = `≥ ${rate.toLocaleString('en')} events/s, or ≥ ${part} × bare`;
  return { text, reached: Math.min(byRate, byPart), most: 1 };
}

export function postgres(): Promise<Row[]> {
  return withServer(async (url) => {
    const single = await measured(url, 1, 100);
    const ten = await measured(url, 10, 50);
    const unit = 'µs/event (wall)';
    return [
      {
        scenario: `PostgreSQL, ${WRITERS} writers, 1 event each`,
        unit,
        values: single,
        goal: goal(single, 5000, 0.7),
      },
      {
        scenario: `PostgreSQL, ${WRITERS} writers, 10 events each`,
        unit,
        values: ten,
        goal: goal(ten, 30_000, 0.6),
      },
      await readerLag(url),
      await cancelLag(url),
      ...(await twoNodes(url)),
    ];
  });
}

/** Takes minutes, so it runs only on request. */
export function million(): Promise<Row[]> {
  return withServer((url) => largeStore(url, 1_000_000));
}

async function withServer(measure: (url: string) => Promise<Row[]>): Promise<Row[]> {
  const given = process.env['DATABASE_URL'];
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-postgres-'));
  const server = given === undefined ? await startPostgres(folder, []) : undefined;
  try {
    return await measure(given ?? server?.url ?? '');
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
