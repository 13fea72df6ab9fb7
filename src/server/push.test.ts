import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError, type Message, type Task } from '../protocol/index.ts';
import { createAgent } from './agent.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { memoryStore } from './memory-store.ts';
import type { Deliver, Delivery } from './push.ts';

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

interface Received extends Delivery {
  readonly json: Record<string, never>;
  /** Answers the request. */
  answer(status: number): void;
  readonly signal: AbortSignal;
}

/** A receiver in this process: the test sees each request, and answers it when it likes. */
function receiver(auto = true) {
  const seen: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const deliver: Deliver = {
    check(url) {
      if (url.includes('private')) throw new A2AError('invalidParams', 'private');
    },
    send: (delivery, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        const json = JSON.parse(delivery.body);
        seen.push({ ...delivery, json, answer: resolve, signal });
        if (auto) resolve(200);
        for (const { count, resolve: go } of waiting) if (seen.length >= count) go();
      }),
  };
  const received = (count: number) =>
    seen.length >= count
      ? Promise.resolve()
      : new Promise<void>((resolve) => waiting.push({ count, resolve }));
  return { deliver, seen, received };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const hook = { id: 'h', url: 'https://hook.example/' };

/** The states that a 1.0 webhook was told, in order; an artifact is `artifact`. */
function told(seen: readonly Received[]): string[] {
  return seen.map(({ json }) => {
    const { task, statusUpdate } = json as Record<string, { status: { state: string } }>;
    const state = (task ?? statusUpdate)?.status.state ?? 'artifact';
    return state.replace('TASK_STATE_', '').toLowerCase();
  });
}

async function send(handler: RequestHandler, text: string, extra: Partial<Message> = {}) {
  return (await handler.sendMessage({ message: says(text, extra) })) as Task;
}

async function sendWithHook(handler: RequestHandler, text: string): Promise<Task> {
  const configuration = { pushNotificationConfig: hook };
  return (await handler.sendMessage({ message: says(text), configuration })) as Task;
}

test('a webhook gets every event once, in order, also over questions and their answers', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await sendWithHook(handler, '2');
  await send(handler, 'a', { taskId });
  await send(handler, 'b', { taskId });
  await received(9);
  assert.deepEqual(told(seen), [
    'submitted',
    'working',
    'input_required',
    'working',
    'artifact',
    'input_required',
    'working',
    'artifact',
    'completed',
  ]);
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
    seen[n - 1]!.answer(200);
  }
  await tick();
  assert.deepEqual(told(seen).slice(-4), ['input_required', 'working', 'artifact', 'completed']);
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

test('0.3 is told the whole task whenever its status changes, 1.0 each event', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const configuration = { pushNotificationConfig: hook };
  const message = says('1');
  const task = await handler.sendMessage({ message, configuration }, { version: '0.3' });
  const { id: taskId } = task as Task;
  await send(handler, 'a', { taskId });
  await received(5);
  const tasks = seen.map(({ json }) => json as unknown as Task);
  assert.deepEqual(
    tasks.map(({ kind, status }) => [kind, status.state]),
    ['submitted', 'working', 'input-required', 'working', 'completed'].map((state) => [
      'task',
      state,
    ]),
  );
  assert.deepEqual(tasks.at(-1), await handler.getTask({ id: taskId }));
  assert.equal(seen[0]!.headers['content-type'], 'application/json');
});

test('credentials go into headers: Bearer, Basic in clear or encoded, another scheme, a token', async (t) => {
  const { deliver, seen, received } = receiver();
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const encoded = Buffer.from('ann:secret').toString('base64');
  const cases = [
    [{ schemes: ['Bearer'], credentials: 'abc' }, 'Bearer abc'],
    [{ schemes: ['Basic'], credentials: 'ann:secret' }, `Basic ${encoded}`],
    [{ schemes: ['Basic'], credentials: encoded }, `Basic ${encoded}`],
    [{ schemes: ['Custom', 'Bearer'], credentials: 'abc' }, 'Bearer abc'],
    [{ schemes: ['Custom'], credentials: 'abc' }, 'Custom abc'],
    [{ schemes: ['Bearer'] }, undefined],
  ] as const;
  for (const [{ schemes, ...rest }, expected] of cases) {
    const authentication = { schemes: [...schemes], ...rest };
    const pushNotificationConfig = { ...hook, token: 'tok', authentication };
    const before = seen.length;
    await handler.sendMessage({ message: says('0'), configuration: { pushNotificationConfig } });
    await received(before + 3);
    for (const { headers } of seen.slice(before)) {
      assert.equal(headers['authorization'], expected);
      assert.equal(headers['x-a2a-notification-token'], 'tok');
      assert.equal(headers['a2a-version'], '1.0');
    }
  }
});

test('a secret that does not fit into a header is refused before there is a task', async (t) => {
  const handler = createHandler(asker, { deliver: receiver().deliver, logger: silent });
  t.after(() => handler.close());
  for (const bad of [
    { token: 'a\r\nx-evil: 1' },
    { token: 'ü' },
    { authentication: { schemes: ['Bearer\n'], credentials: 'x' } },
    { authentication: { schemes: ['Bearer'], credentials: 'x\u0000' } },
    { url: 'https://private.example' },
  ]) {
    const pushNotificationConfig = { ...hook, ...bad };
    const configuration = { pushNotificationConfig };
    await assert.rejects(handler.sendMessage({ message: says('0'), configuration }), {
      kind: 'invalidParams',
    });
  }
  assert.equal((await handler.listTasks({})).totalSize, 0);
});

test('5xx and no connection are tried again, 4xx is not', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  await sendWithHook(handler, '0');
  await received(1);
  seen[0]!.answer(503);
  await received(2);
  assert.equal(seen[1]!.body, seen[0]!.body);
  seen[1]!.answer(200);
  await received(3);
  assert.deepEqual(told(seen).slice(2), ['working']);
  seen[2]!.answer(404);
  await received(4);
  assert.deepEqual(told(seen).slice(3), ['completed'], 'the next one, not the same again');
  seen[3]!.answer(200);
});

test('a webhook that hangs holds neither its task nor the other webhooks', async (t) => {
  const hanging = receiver(false);
  const fine = receiver();
  const deliver: Deliver = {
    check() {},
    send: (delivery, signal) =>
      (delivery.url.includes('hang') ? hanging : fine).deliver.send(delivery, signal),
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

test('a webhook that is set anew goes to the new address, from there on', async (t) => {
  const { deliver, seen, received } = receiver(false);
  const handler = createHandler(asker, { deliver, logger: silent });
  t.after(() => handler.close());
  const { id: taskId } = await sendWithHook(handler, '1');
  await received(1);
  const url = 'https://new.example/';
  await handler.setPushConfig({ taskId, pushNotificationConfig: { ...hook, url } });
  assert.equal(seen[0]!.signal.aborted, true);
  await send(handler, 'a', { taskId });
  for (let n = 2; n <= 4; n++) {
    await received(n);
    seen[n - 1]!.answer(200);
  }
  assert.deepEqual(told(seen.slice(1)), ['working', 'artifact', 'completed']);
  for (const delivery of seen.slice(1)) assert.equal(delivery.url, url);
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
