import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { A2AError, type Message, type Task } from '../../protocol/index.ts';
import { sqliteStore } from '../../store/sqlite.ts';
import { within } from '../../../test/support/within.ts';
import { createAgent } from '../execution/agent.ts';
import type { AgentExecutor } from '../execution/executor.ts';
import { createHandler, type RequestHandler } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';
import type { Deliver, Delivery, DeliveryOutcome } from './deliver.ts';
import type { TaskStore } from '../store/store.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

/** Asks as often as the text says, and repeats each answer. */
const asker = createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
  for (let n = 0; n < Number(ctx.text); n++) yield (await ctx.ask(`question ${n}`)).text;
});

interface Received extends Omit<Delivery, 'task'> {
  /** For 0.3: the task as it was then. */
  readonly task: Task | undefined;
  answer(outcome: DeliveryOutcome): void;
  readonly signal: AbortSignal;
}

/** A receiver in this process: the test sees each request, and answers it when it likes. */
function receiver(auto = true) {
  const seen: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const deliver: Deliver = {
    accept(config) {
      if (config.url.includes('private')) throw new A2AError('invalidParams', 'private');
      return { ...config, id: config.id ?? `made-${++made}` };
    },
    async prepare({ record, entry, task: load }) {
      const task = record.version === '0.3' ? structuredClone(await load()) : undefined;
      return (signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
          seen.push({ record, entry, task, answer: resolve, signal });
          if (auto) resolve('taken');
          for (const { count, resolve: go } of waiting) if (seen.length >= count) go();
        });
    },
  };
  const received = (count: number) =>
    seen.length >= count
      ? Promise.resolve()
      : within(
          `${count} deliveries`,
          new Promise<void>((resolve) => waiting.push({ count, resolve })),
        );
  return { deliver, seen, received };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const FAILED = { failed: 'HTTP 500' };
const hook = { id: 'h', url: 'https://hook.example/' };

/** The states that a webhook was told, in order; an artifact is `artifact`. */
function told(seen: readonly Received[]): string[] {
  return seen.map(({ entry: { event } }) =>
    event.kind === 'artifact-update' ? 'artifact' : event.status.state,
  );
}

async function send(handler: RequestHandler, text: string, extra: Partial<Message> = {}) {
  return (await handler.sendMessage({ message: says(text, extra) })) as Task;
}

async function sendWithHook(handler: RequestHandler, text: string): Promise<Task> {
  const configuration = { pushNotificationConfig: hook };
  return (await handler.sendMessage({ message: says(text), configuration })) as Task;
}

function diskStore(t: TestContext): TaskStore {
  const folder = mkdtempSync(join(tmpdir(), 'parley-push-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return sqliteStore(join(folder, 'tasks.db'));
}

for (const [name, open] of [
  ['memory', () => memoryStore()],
  ['sqlite', diskStore],
] as const) {
  test(`a webhook gets every event once, in order, over questions and answers (${name})`, async (t) => {
    const { deliver, seen, received } = receiver();
    const handler = createHandler(asker, { store: open(t), deliver, logger: silent });
    t.after(() => handler.close());
    const { id: taskId } = await sendWithHook(handler, '2');
    await send(handler, 'a', { taskId });
    await send(handler, 'b', { taskId });
    await received(9);
    assert.deepEqual(told(seen), [
      'submitted',
      'working',
      'input-required',
      'working',
      'artifact',
      'input-required',
      'working',
      'artifact',
      'completed',
    ]);
    assert.deepEqual(
      seen.map(({ entry }) => entry.seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
  });
}

test('an answer, and the `working` with which an agent goes on, are two events for a webhook', async (t) => {
  const { deliver, seen, received } = receiver();
  const executor: AgentExecutor = {
    async *execute({ turn }) {
      yield { kind: 'status-update', state: 'working' };
      const state = turn.length === 1 ? 'input-required' : 'completed';
      yield { kind: 'status-update', state };
    },
  };
  const handler = createHandler(executor, { deliver, logger: silent });
  t.after(() => handler.close());
  const configuration = { pushNotificationConfig: hook };
  const old = { version: '0.3' } as const;
  const asked = await handler.sendMessage({ message: says('a'), configuration }, old);
  await send(handler, 'b', { taskId: (asked as Task).id });
  await received(6);
  const [answer, own] = [seen[3], seen[4]];
  assert.deepEqual([answer?.entry.seq, own?.entry.seq], [4, 5]);
  assert.equal(answer?.task?.history?.length, 2);
  const { status: _, ...rest } = answer.task;
  assert.deepEqual({ ...own?.task, status: undefined }, { ...rest, status: undefined });
});

test('a webhook that comes with an answer hears from there on, and is saved once however often it comes', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await send(handler, '2');
  const configuration = { pushNotificationConfig: { url: hook.url } };
  for (const text of ['a', 'b']) {
    await handler.sendMessage({ message: says(text, { taskId }), configuration });
  }
  await received(6);
  const turn = ['working', 'artifact'];
  assert.deepEqual(told(seen), [...turn, 'input-required', ...turn, 'completed']);
  assert.equal((await handler.listPushConfigs({ id: taskId })).length, 1);
});

test('an answer that brings the known webhook does not cut off what that is delivering', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await sendWithHook(handler, '1');
  await received(1);
  const configuration = { pushNotificationConfig: hook };
  await handler.sendMessage({ message: says('a', { taskId }), configuration });
  for (let n = 1; n <= 6; n++) {
    await received(n);
    seen[n - 1]!.answer('taken');
  }
  assert.deepEqual(told(seen).slice(-3), ['working', 'artifact', 'completed']);
});

test('an answer whose webhook is refused is not taken, and the task waits on', async (t) => {
  const options = { deliver: receiver().deliver, logger: silent };
  const handler = createHandler(asker, { ...options, limits: { maxPushConfigsPerTask: 0 } });
  t.after(() => handler.close());
  const { id: taskId } = await send(handler, '1');
  const configuration = { pushNotificationConfig: hook };
  const message = says('a', { taskId });
  await assert.rejects(handler.sendMessage({ message, configuration }), { kind: 'invalidParams' });
  assert.equal((await handler.getTask({ id: taskId })).status.state, 'input-required');
  assert.equal((await send(handler, 'b', { taskId })).status.state, 'completed');
});

test('an answer may repeat the webhook that its task already has, even if there is no room for another one', async (t) => {
  const options = { deliver: receiver().deliver, logger: silent };
  const handler = createHandler(asker, { ...options, limits: { maxPushConfigsPerTask: 1 } });
  t.after(() => handler.close());
  const configuration = { pushNotificationConfig: { url: hook.url } };
  const task = await handler.sendMessage({ message: says('1'), configuration });
  assert.ok(task.kind === 'task');
  const message = says('a', { taskId: task.id });
  await handler.sendMessage({ message, configuration });
  assert.equal((await handler.listPushConfigs({ id: task.id })).length, 1);
});

test('a message that comes again with a webhook has it saved', async (t) => {
  const handler = createHandler(asker, { deliver: receiver().deliver, logger: silent });
  t.after(() => handler.close());
  const message = says('1');
  const { id } = (await handler.sendMessage({ message })) as Task;
  const configuration = { pushNotificationConfig: { url: hook.url } };
  for (let n = 0; n < 2; n++) await handler.sendMessage({ message, configuration });
  assert.equal((await handler.listPushConfigs({ id })).length, 1);
});

test('a webhook that comes with a repeated message gets all events of the task that the message started', async (t) => {
  const { deliver, seen, received } = receiver();
  const gate = Promise.withResolvers<string>();
  const worker = createAgent({ name: 'Worker', description: 'Works' }, async function* () {
    yield await gate.promise;
  });
  const handler = createHandler(worker, { deliver, logger: silent });
  t.after(() => handler.close());
  const message = says('go');
  await handler.sendMessage({ message, configuration: { blocking: false } });
  const configuration = { blocking: false, pushNotificationConfig: hook };
  await handler.sendMessage({ message, configuration });
  gate.resolve('done');
  await received(4);
  assert.deepEqual(told(seen), ['submitted', 'working', 'artifact', 'completed']);
});

test('the same message twice at the same moment saves its webhook once', async (t) => {
  const handler = createHandler(asker, { deliver: receiver().deliver, logger: silent });
  t.after(() => handler.close());
  const message = says('1');
  const { id } = (await handler.sendMessage({ message })) as Task;
  const configuration = { pushNotificationConfig: { url: hook.url } };
  const again = () => handler.sendMessage({ message, configuration });
  await Promise.all([again(), again(), again()]);
  assert.equal((await handler.listPushConfigs({ id })).length, 1);
});

test('a webhook that is slow gets what happened meanwhile, turns and all', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await sendWithHook(handler, '3');
  for (const text of ['a', 'b', 'c']) await send(handler, text, { taskId });
  for (let n = 1; n <= 12; n++) {
    await received(n);
    await tick();
    assert.equal(seen.length, n, 'one at a time');
    seen[n - 1]!.answer('taken');
  }
  await tick();
  assert.deepEqual(told(seen).slice(-4), ['input-required', 'working', 'artifact', 'completed']);
});

test('a webhook set while the task waits gets what comes, and so does one whose task is canceled then', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await send(handler, '1');
  await handler.setPushConfig({ taskId, pushNotificationConfig: hook });
  await handler.cancelTask({ id: taskId });
  await received(1);
  await tick();
  assert.deepEqual(told(seen), ['canceled']);
});

test('a webhook hears of the task that a restart interrupted', async (t) => {
  const store = memoryStore();
  const hold = createAgent({ name: 'Hold', description: '' }, async function* () {
    yield 'x';
    await new Promise(() => {});
  });
  const first = createHandler(hold, { store, deliver: receiver().deliver, logger: silent });
  const configuration = { blocking: false, pushNotificationConfig: hook };
  await first.sendMessage({ message: says('x'), configuration });
  await tick();
  const { deliver, seen, received } = receiver();
  const second = createHandler(hold, { store, deliver, logger: silent });
  t.after(() => second.close());
  await second.recover();
  await received(1);
  assert.deepEqual(told(seen), ['failed']);
});

test('whoever sends whole tasks gets each as it was at its event', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const configuration = { pushNotificationConfig: hook };
  const message = says('1');
  const task = await handler.sendMessage({ message, configuration }, { version: '0.3' });
  const { id: taskId } = task as Task;
  await send(handler, 'a', { taskId });
  await received(6);
  assert.deepEqual(
    seen.map(({ task: then }) => [then?.status.state, then?.artifacts?.length ?? 0]),
    [
      ['submitted', 0],
      ['working', 0],
      ['input-required', 0],
      ['working', 0],
      ['working', 1],
      ['completed', 1],
    ],
  );
  assert.deepEqual(seen.at(-1)?.task, await handler.getTask({ id: taskId }));
});

test('a webhook that may never be called is refused before there is a task', async (t) => {
  const handler = createHandler(asker, { deliver: receiver().deliver, logger: silent });
  t.after(() => handler.close());
  const pushNotificationConfig = { ...hook, url: 'https://private.example' };
  const params = { message: says('0'), configuration: { pushNotificationConfig } };
  await assert.rejects(handler.sendMessage(params), { kind: 'invalidParams' });
  assert.equal((await handler.listTasks({})).totalSize, 0);
});

test('a delivery that failed is tried again, until it is taken', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  await sendWithHook(handler, '0');
  await received(1);
  seen[0]!.answer(FAILED);
  await received(2);
  assert.equal(seen[1]!.entry, seen[0]!.entry);
  seen[1]!.answer('taken');
  await received(3);
  assert.deepEqual(told(seen).slice(2), ['working']);
  seen[2]!.answer('taken');
  await received(4);
  assert.deepEqual(told(seen).slice(3), ['completed']);
  seen[3]!.answer('taken');
});

test('a webhook that hangs holds neither its task nor the other webhooks', async (t) => {
  const hanging = receiver(false);
  const fine = receiver();
  const deliver: Deliver = {
    accept: (...given) => fine.deliver.accept(...given),
    prepare: (delivery) =>
      (delivery.record.config.url.includes('hang') ? hanging : fine).deliver.prepare(delivery),
  };
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await send(handler, '1');
  for (const url of ['https://hang.example', 'https://fine.example']) {
    await handler.setPushConfig({ taskId, pushNotificationConfig: { id: url, url } });
  }
  const done = await send(handler, 'a', { taskId });
  assert.equal(done.status.state, 'completed');
  await fine.received(3);
  assert.deepEqual(told(fine.seen), ['working', 'artifact', 'completed']);
  assert.deepEqual(told(hanging.seen), ['working']);
});

test('a deleted webhook stops at once, in the middle of a delivery', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id } = await sendWithHook(handler, '1');
  await received(1);
  await handler.deletePushConfig({ id, pushNotificationConfigId: 'h' });
  assert.equal(seen[0]!.signal.aborted, true);
  await send(handler, 'a', { taskId: id });
  await tick();
  assert.equal(seen.length, 1);
  await handler.deletePushConfig({ id, pushNotificationConfigId: 'h' });
});

test('a webhook that is set anew gets the event that it did not take, and later ones, at the new address', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await sendWithHook(handler, '1');
  await received(1);
  const url = 'https://new.example/';
  await handler.setPushConfig({ taskId, pushNotificationConfig: { ...hook, url } });
  assert.equal(seen[0]!.signal.aborted, true);
  await send(handler, 'a', { taskId });
  for (let n = 2; n <= 7; n++) {
    await received(n);
    seen[n - 1]!.answer('taken');
  }
  const question = ['submitted', 'working', 'input-required'];
  assert.deepEqual(told(seen.slice(1)), [...question, 'working', 'artifact', 'completed']);
  for (const { record } of seen.slice(1)) assert.equal(record.config.url, url);
});

test('a task has so many webhooks and no more', async (t) => {
  const options = { deliver: receiver().deliver, logger: silent };
  const handler = createHandler(asker, { ...options, limits: { maxPushConfigsPerTask: 2 } });
  t.after(() => handler.close());
  const { id: taskId } = await send(handler, '0');
  const set = (id: string) =>
    handler.setPushConfig({ taskId, pushNotificationConfig: { ...hook, id } });
  await set('a');
  await set('b');
  await assert.rejects(set('c'), { kind: 'invalidParams' });
  await set('b');
  assert.equal((await handler.listPushConfigs({ id: taskId })).length, 2);
});

test('if the webhook of a new task cannot be saved, there is no task, and its message id is free', async (t) => {
  const store = memoryStore();
  const savePush = t.mock.method(store, 'savePush', () => {
    throw new A2AError('unavailable', 'no key for secrets');
  });
  const handler = createHandler(asker, { store, deliver: receiver().deliver, logger: silent });
  t.after(() => handler.close());
  const message = says('0');
  const params = { message, configuration: { pushNotificationConfig: hook } };
  await assert.rejects(handler.sendMessage(params), { kind: 'unavailable' });
  assert.equal((await handler.listTasks({})).totalSize, 0);
  assert.equal(handler.running, 0);
  savePush.mock.restore();
  assert.equal(((await handler.sendMessage(params)) as Task).status.state, 'completed');
});

test('closing the server ends deliveries that hang', async () => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  await sendWithHook(handler, '0');
  await received(1);
  await handler.close();
  assert.equal(seen[0]!.signal.aborted, true);
});

test('closing the server lets webhooks hear how their tasks ended', async () => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  await sendWithHook(handler, '0');
  await received(1);
  const closed = handler.close();
  for (let n = 1; n <= 3; n++) {
    await received(n);
    await tick();
    seen[n - 1]!.answer('taken');
  }
  await closed;
  assert.deepEqual(told(seen), ['submitted', 'working', 'completed']);
});

test('closing the server does not wait for webhooks that have heard everything', async () => {
  const hold = createAgent({ name: 'Hold', description: '', resumes: true }, async function* (ctx) {
    yield 'x';
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  });
  const { deliver, received } = receiver();
  const handler = createHandler(hold, { deliver, logger: silent });
  const configuration = { blocking: false, pushNotificationConfig: hook };
  await handler.sendMessage({ message: says('x'), configuration });
  await received(3);
  const started = performance.now();
  await handler.close();
  assert.ok(performance.now() - started < 900);
});
