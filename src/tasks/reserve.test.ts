import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { textOf, type Message, type Task } from '../protocol/index.ts';
import { sqliteStore } from '../store/sqlite.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';
import type { TaskStore } from './store/store.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function says(text: string, taskId: string): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, taskId };
}

/** Says what it was told, and in which turn. */
const echo: AgentExecutor = {
  async *execute({ message, turn }) {
    const text = `${turn.length}: ${textOf(message.parts)}`;
    yield { kind: 'status-update', state: 'completed', message: text };
  },
};

function file(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-reserve-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'tasks.db');
}

const STORES: [string, (t: TestContext) => TaskStore][] = [
  ['memory', () => memoryStore()],
  ['sqlite', (t) => sqliteStore(file(t))],
];

for (const [name, open] of STORES) {
  test(`${name}: a task waits for its first message, and begins with it`, async (t) => {
    const handler = createHandler(echo, { store: open(t), logger });
    t.after(() => handler.close());
    const metadata = { note: 'kept' };
    const { id, contextId } = await handler.reserveTask({ contextId: 'c1', metadata });
    assert.equal(contextId, 'c1');
    const waiting = await handler.getTask({ id });
    assert.equal(waiting.status.state, 'submitted');
    assert.deepEqual([waiting.metadata, waiting.history], [metadata, undefined]);
    const done = (await handler.sendMessage({ message: says('hello', id) })) as Task;
    assert.equal(done.status.state, 'completed');
    assert.equal(textOf(done.status.message?.parts ?? []), '1: hello');
    assert.deepEqual(done.metadata, metadata);
  });

  test(`${name}: of two first messages one is taken`, async (t) => {
    const handler = createHandler(echo, { store: open(t), logger });
    t.after(() => handler.close());
    const { id } = await handler.reserveTask({});
    const sent = await Promise.allSettled(
      ['one', 'two', 'three'].map((text) => handler.sendMessage({ message: says(text, id) })),
    );
    assert.equal(sent.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test(`${name}: whoever follows it from the start sees its first turn`, async (t) => {
    const handler = createHandler(echo, { store: open(t), logger });
    t.after(() => handler.close());
    const { id } = await handler.reserveTask({});
    const stream = await handler.subscribe({ id });
    await handler.sendMessage({ message: says('hello', id) });
    const states: string[] = [];
    for await (const { event } of stream) {
      if (event.kind === 'task' || event.kind === 'status-update') states.push(event.status.state);
    }
    assert.deepEqual(states, ['submitted', 'working', 'completed']);
  });

  test(`${name}: it belongs to whoever made it, and can be canceled`, async (t) => {
    const handler = createHandler(echo, { store: open(t), logger });
    t.after(() => handler.close());
    const ann = { user: { id: 'ann' } };
    const { id } = await handler.reserveTask({}, ann);
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
    assert.equal((await handler.cancelTask({ id }, ann)).status.state, 'canceled');
    await assert.rejects(handler.sendMessage({ message: says('hello', id) }, ann), {
      kind: 'unsupportedOperation',
    });
  });
}

for (const resumes of [true, false]) {
  const how = resumes ? 'resumes' : 'does not resume';
  test(`it is there after a restart, where the executor ${how}`, async (t) => {
    const path = file(t);
    const executor = { ...echo, rules: { resumes } };
    const first = createHandler(executor, { store: sqliteStore(path), logger });
    const { id } = await first.reserveTask({});
    await first.close();
    const second = createHandler(executor, { store: sqliteStore(path), logger });
    t.after(() => second.close());
    await second.recover();
    assert.equal((await second.getTask({ id })).status.state, 'submitted');
    const done = (await second.sendMessage({ message: says('hello', id) })) as Task;
    assert.equal(done.status.state, 'completed');
  });
}

test('a task whose first message is there, and that nobody executes, is no such task', async (t) => {
  const store = memoryStore();
  const message = { ...says('hello', 't1'), contextId: 'c1' };
  const status = { state: 'submitted' as const, timestamp: new Date().toISOString() };
  const event: Task = { kind: 'task', id: 't1', contextId: 'c1', status, history: [message] };
  const entries = [{ seq: 1, event }];
  store.append([{ tenant: '', owner: '', taskId: 't1', contextId: 'c1', expected: 0, entries }]);
  const handler = createHandler(echo, { store, logger });
  t.after(() => handler.close());
  const [one, other] = await Promise.all([
    handler.getTask({ id: 't1' }),
    handler.getTask({ id: 't1' }),
  ]);
  assert.deepEqual([one.status.state, other.status.state], ['failed', 'failed']);
});

test('a server that goes down makes none', async () => {
  const handler = createHandler(echo, { logger });
  await handler.close();
  await assert.rejects(handler.reserveTask({}), { kind: 'unavailable' });
});
