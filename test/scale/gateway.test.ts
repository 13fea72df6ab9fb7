/**
 * However many tasks a store has, one more costs the same: list, get and send, beside the same on a store that has just
 * enough for a page. Each measurement alternates between the two, so that whatever else the machine does hits both.
 */
import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Message, TaskState } from '../../src/protocol/index.ts';
import {
  type AgentExecutor,
  type Append,
  createHandler,
  type RequestHandler,
} from '../../src/tasks/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';

const LONG = process.env['PARLEY_TEST_LONG'] === '1';
const MANY = LONG ? 1_000_000 : 20_000;
const FEW = 200;
const REPEATS = LONG ? 1000 : 400;
const MOST = 1.5;
/** Less than this is noise, in milliseconds. */
const FLOOR = 0.02;
const PAGE = 50;
const BATCH = 2000;
const IN_A_CONTEXT = 10;
/** Whose tasks they are does not matter, as long as it is one workspace. */
const call = { user: { id: 'workspace' } };
const scope = { tenant: '', owner: 'workspace' };
const FAR = Date.now() + 365 * 24 * 3_600_000;

const executor: AgentExecutor = {
  receive: () => ({ metadata: { model: 'offline' }, expiresAt: FAR }),
  async *execute() {
    yield { kind: 'status-update', state: 'working' };
    const parts = [{ kind: 'text' as const, text: 'an answer' }];
    yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts } };
  },
};

function says(messageId: string): Message {
  const parts = [{ kind: 'text' as const, text: 'a question, as long as most of them are' }];
  return { kind: 'message', messageId, role: 'user', parts };
}

/** A whole task in one write. */
function finished(taskId: string, contextId: string, state: TaskState): Append {
  const messageId = randomUUID();
  const at = { taskId, contextId };
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: 'an answer' }] };
  const status = (now: TaskState, final: boolean) =>
    ({ kind: 'status-update', ...at, status: { state: now }, final }) as const;
  const events = [
    {
      kind: 'task' as const,
      id: taskId,
      contextId,
      status: { state: 'submitted' as const },
      history: [{ ...says(messageId), ...at }],
    },
    status('working', false),
    { kind: 'artifact-update' as const, ...at, artifact },
    status(state, true),
  ];
  const entries = events.map((event, at) => ({ seq: at + 1, event }));
  return { ...scope, ...at, expected: 0, entries, messageIds: [messageId], expiresAt: FAR };
}

interface Filled {
  readonly handler: RequestHandler;
  /** Some of its tasks, from all over it. */
  readonly some: readonly { readonly taskId: string; readonly contextId: string }[];
}

function fill(t: TestContext, tasks: number, oneContext: boolean): Filled {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-scale-'));
  const file = path.join(folder, 'tasks.db');
  const store = sqliteStore(file);
  const some: { taskId: string; contextId: string }[] = [];
  const every = Math.max(1, Math.floor(tasks / REPEATS));
  let contextId = randomUUID();
  for (let done = 0; done < tasks;) {
    const batch: Append[] = [];
    for (; batch.length < BATCH && done < tasks; done++) {
      if (!oneContext && done % IN_A_CONTEXT === 0) contextId = randomUUID();
      const taskId = randomUUIDv7();
      const state = done === 0 ? 'rejected' : done % 10 === 0 ? 'failed' : 'completed';
      batch.push(finished(taskId, contextId, state));
      if (done % every === 0) some.push({ taskId, contextId });
    }
    store.append(batch);
  }
  store.close();
  const handler = createHandler(executor, { store: sqliteStore(file) });
  t.after(async () => {
    await handler.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { handler, some };
}

type Operation = (filled: Filled, round: number) => Promise<unknown>;

const at = ({ some }: Filled, round: number) => some[(round * 7919) % some.length]!;

const OPERATIONS: Record<string, Operation> = {
  list: ({ handler }) => handler.listTasks({ pageSize: PAGE }, call),
  'list by state': ({ handler }) =>
    handler.listTasks({ pageSize: PAGE, status: 'completed' }, call),
  'list by context': (filled, round) => {
    const { contextId } = at(filled, round);
    return filled.handler.listTasks({ pageSize: PAGE, contextId }, call);
  },
  'list by context and state': (filled, round) => {
    const { contextId } = at(filled, round);
    return filled.handler.listTasks({ pageSize: PAGE, contextId, status: 'completed' }, call);
  },
  'list by context and a rare state': (filled, round) => {
    const { contextId } = at(filled, round);
    return filled.handler.listTasks({ pageSize: PAGE, contextId, status: 'rejected' }, call);
  },
  'read the last tasks of a session': (filled, round) => {
    const { contextId } = at(filled, round);
    const whole = { historyLength: 10, includeArtifacts: true };
    const params = { pageSize: 20, contextId, ...whole };
    return filled.handler.listTasks(params, call, { total: false });
  },
  get: (filled, round) => filled.handler.getTask({ id: at(filled, round).taskId }, call),
  send: ({ handler }) => handler.sendMessage({ message: says(randomUUID()) }, call),
  'send in a session': (filled, round) => {
    const { contextId } = at(filled, round);
    const message = { ...says(randomUUID()), contextId };
    return filled.handler.sendMessage({ message }, call);
  },
};

async function timed(operation: Operation, filled: Filled, round: number): Promise<number> {
  const start = performance.now();
  await operation(filled, round);
  return performance.now() - start;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

for (const oneContext of [false, true]) {
  const where = oneContext ? 'one context' : `contexts of ${IN_A_CONTEXT}`;
  test(`${MANY} tasks in ${where} cost no more to use than ${FEW}`, async (t) => {
    const many = fill(t, MANY, oneContext);
    const few = fill(t, FEW, oneContext);
    const slow: string[] = [];
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      for (let round = 0; round < REPEATS / 4; round++) {
        await timed(operation, many, round);
        await timed(operation, few, round);
      }
      const inMany: number[] = [];
      const inFew: number[] = [];
      for (let round = 0; round < REPEATS; round++) {
        inMany.push(await timed(operation, many, round));
        inFew.push(await timed(operation, few, round));
      }
      const [much, little] = [median(inMany), median(inFew)];
      const line = `${name}: ${much.toFixed(3)} ms, ${(much / little).toFixed(2)} times ${little.toFixed(3)} ms`;
      t.diagnostic(line);
      if (much > Math.max(little * MOST, little + FLOOR)) slow.push(line);
    }
    assert.deepEqual(slow, []);
  });
}
