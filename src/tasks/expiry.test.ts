import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { update } from '../../test/contract/task-store/events.ts';
import type { Message, StreamItem, Task, TaskState } from '../protocol/index.ts';
import { sqliteStore } from '../store/sqlite.ts';
import type { AgentExecutor, CancelContext } from './execution/executor.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';
import type { TaskStore } from './store/store.ts';

/** Tasks expire here, long ago; sweeps are at the real time unless they say otherwise. */
const EXPIRY = 1000;
const HOUR = 3_600_000;

function recorder() {
  const errors: string[] = [];
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text: string) => void errors.push(text),
  };
  return { logger, errors };
}

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

/** Does what the message says: `complete`, `ask`, `ask-login`, `hang` before or `work` after it says that it works. */
function agent() {
  const canceled: { taskId: string; context: CancelContext }[] = [];
  const executor: AgentExecutor = {
    receive: () => ({ expiresAt: EXPIRY }),
    async *execute({ message, signal }) {
      const text = message.parts[0]?.kind === 'text' ? message.parts[0].text : '';
      if (text === 'work') yield { kind: 'status-update', state: 'working' };
      if (text === 'ask') yield { kind: 'status-update', state: 'input-required' };
      if (text === 'ask-login') yield { kind: 'status-update', state: 'auth-required' };
      if (text === 'stubborn') await new Promise(() => {});
      if ((text === 'hang' || text === 'work') && !signal.aborted) await once(signal, 'abort');
    },
    cancel: (taskId, context) => void canceled.push({ taskId, context }),
  };
  return { executor, canceled };
}

const STORES: Record<string, (t: TestContext) => TaskStore> = {
  memory: () => memoryStore(),
  sqlite: (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-expiry-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    return sqliteStore(join(folder, 'tasks.db'));
  },
};

async function send(handler: RequestHandler, text: string): Promise<Task> {
  const configuration = { blocking: !['hang', 'work', 'stubborn'].includes(text) };
  return (await handler.sendMessage({ message: says(text), configuration })) as Task;
}

async function working(handler: RequestHandler): Promise<Task> {
  const task = await send(handler, 'work');
  for await (const { event } of await handler.subscribe({ id: task.id, after: 1 })) {
    if (event.kind === 'status-update') break;
  }
  return task;
}

function textOf({ status: { message } }: Task): string {
  return message?.parts[0]?.kind === 'text' ? message.parts[0].text : '';
}

for (const [name, openStore] of Object.entries(STORES)) {
  /** Requests find no expired task unless `now` says so: the sweeps are tested here. */
  function setUp(t: TestContext, graceMs = 1000, now = () => 0) {
    const log = recorder();
    const { executor, canceled } = agent();
    const store = openStore(t);
    const handler = createHandler(executor, {
      store,
      logger: log.logger,
      now,
      limits: { graceMs },
    });
    t.after(() => handler.close());
    return { handler, store, canceled, errors: log.errors };
  }

  for (const [text, from, to] of [
    ['hang', 'submitted', 'canceled'],
    ['ask', 'input-required', 'canceled'],
    ['ask-login', 'auth-required', 'canceled'],
    ['work', 'working', 'failed'],
  ] as const) {
    test(`${name}: a task that is ${from} when it expires ends as ${to}, and says why`, async (t) => {
      const { handler, canceled } = setUp(t);
      const { id } = text === 'work' ? await working(handler) : await send(handler, text);
      assert.equal((await handler.getTask({ id })).status.state, from);
      assert.deepEqual(await handler.expire({ keepMs: HOUR }), { ended: 1, removed: 0 });
      const task = await handler.getTask({ id });
      assert.equal(task.status.state, to);
      assert.match(textOf(task), /expired/);
      assert.deepEqual(
        canceled.map(({ taskId }) => taskId),
        [id],
      );
      assert.equal(handler.running, 0);
    });
  }

  for (const [text, state] of [
    ['ask', 'canceled'],
    ['work', 'failed'],
  ] as const) {
    test(`${name}: a request between two sweeps finds that a task (${text}) has expired and is ${state}`, async (t) => {
      let time = 0;
      const { handler } = setUp(t, 1000, () => time);
      const tasks = [];
      for (let count = 0; count < 4; count++) {
        tasks.push(await (text === 'work' ? working(handler) : send(handler, text)));
      }
      const [got, sent, streamed, listed] = tasks.map(({ id }) => id);
      time = EXPIRY;
      assert.equal((await handler.getTask({ id: got ?? '' })).status.state, state);
      assert.equal((await handler.getTask({ id: got ?? '' })).status.state, state, 'it is kept');
      await assert.rejects(handler.sendMessage({ message: says('more', { taskId: sent ?? '' }) }), {
        kind: 'unsupportedOperation',
        message: new RegExp(state),
      });
      await assert.rejects(handler.subscribe({ id: streamed ?? '' }), {
        kind: 'unsupportedOperation',
      });
      const page = await handler.listTasks({});
      assert.equal(page.tasks.find(({ id }) => id === listed)?.status.state, state);
      assert.equal(page.totalSize, 4);
      assert.equal(handler.running, 0);
      time += HOUR;
      await assert.rejects(handler.getTask({ id: got ?? '' }), { kind: 'taskNotFound' });
    });
  }

  test(`${name}: a finished task that has expired is not there between two sweeps`, async (t) => {
    let time = 0;
    const { handler } = setUp(t, 1000, () => time);
    const message = says('complete');
    const { id } = (await handler.sendMessage({ message })) as Task;
    await send(handler, 'complete');
    time = EXPIRY;
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
    await assert.rejects(handler.subscribe({ id, after: 0 }), { kind: 'taskNotFound' });
    await assert.rejects(handler.sendMessage({ message: says('more', { taskId: id }) }), {
      kind: 'taskNotFound',
    });
    const again = (await handler.sendMessage({ message })) as Task;
    assert.notEqual(again.id, id, 'its message starts a new task');
    const { tasks, totalSize } = await handler.listTasks({});
    assert.deepEqual([tasks, totalSize], [[], 0]);
  });

  test(`${name}: a task that was ended is kept for a while, then removed`, async (t) => {
    const { handler, store } = setUp(t);
    const { id } = await send(handler, 'ask');
    const now = Date.now();
    await handler.expire({ keepMs: HOUR, now });
    assert.deepEqual(await handler.expire({ keepMs: HOUR, now: now + HOUR - 1 }), {
      ended: 0,
      removed: 0,
    });
    assert.equal((await handler.getTask({ id })).status.state, 'canceled');
    assert.deepEqual(await handler.expire({ keepMs: HOUR, now: now + HOUR }), {
      ended: 0,
      removed: 1,
    });
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
    assert.deepEqual(await store.read(id, 0, 10), []);
    assert.deepEqual(await store.listPush(id), []);
  });

  test(`${name}: a task that was finished in time is removed when it expires`, async (t) => {
    const { handler, canceled } = setUp(t);
    const { id } = await send(handler, 'complete');
    assert.deepEqual(await handler.expire({ keepMs: HOUR, now: EXPIRY - 1 }), {
      ended: 0,
      removed: 0,
    });
    assert.deepEqual(await handler.expire({ keepMs: HOUR, now: EXPIRY }), { ended: 0, removed: 1 });
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
    assert.equal(canceled.length, 0);
  });

  test(`${name}: a finished task that somebody reads stays until the next sweep`, async (t) => {
    const { handler } = setUp(t);
    const { id } = await send(handler, 'complete');
    const stream = await handler.subscribe({ id, after: 0 });
    assert.deepEqual(await handler.expire({ keepMs: HOUR }), { ended: 0, removed: 0 });
    const seen: StreamItem[] = [];
    for await (const item of stream) seen.push(item);
    assert.equal(seen.length, 2);
    const now = Date.now() + 1000;
    assert.deepEqual(await handler.expire({ keepMs: HOUR, now }), { ended: 0, removed: 1 });
  });

  test(`${name}: a finished task that another process continues after it was listed as expired is kept`, async (t) => {
    const { handler, store } = setUp(t);
    const { id, contextId } = await send(handler, 'complete');
    const list = store.expired.bind(store);
    t.mock.method(store, 'expired', async (now: number, limit: number) => {
      const heads = await list(now, limit);
      for (const { seq } of heads.filter(({ status }) => status.state === 'completed')) {
        const message = says('and now?');
        const status = { state: 'working', message } as const;
        const event = {
          kind: 'status-update',
          taskId: id,
          contextId,
          status,
          final: false,
        } as const;
        const entries = [{ seq: seq + 1, event }];
        await store.append([
          { tenant: '', owner: '', taskId: id, contextId, expected: seq, entries },
        ]);
      }
      return heads;
    });
    assert.equal((await handler.expire({ keepMs: HOUR })).removed, 0);
    assert.ok(await store.head({ tenant: '', owner: '' }, id));
  });

  test(`${name}: whoever reads a task that is removed under their hands is let go`, async (t) => {
    const { handler, store } = setUp(t);
    const { id } = await send(handler, 'complete');
    const stream = await handler.subscribe({ id, after: 0 });
    await store.delete({ tenant: '', owner: '' }, id);
    const ended = new Promise((resolve) => {
      stream.pipe({ take: () => true, end: resolve });
    });
    assert.equal(await ended, 'lost');
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
  });

  test(`${name}: an agent that ignores its signal holds a task of a batch no longer than the grace time`, async (t) => {
    const { handler } = setUp(t, 10);
    const tasks = await Promise.all(Array.from({ length: 70 }, () => send(handler, 'stubborn')));
    assert.deepEqual(await handler.expire({ keepMs: HOUR }), { ended: 70, removed: 0 });
    for (const { id } of tasks) {
      assert.equal((await handler.getTask({ id })).status.state, 'canceled');
    }
  });

  test(`${name}: more tasks than a batch are removed in one sweep`, async (t) => {
    const { handler } = setUp(t);
    for (let n = 0; n < 150; n++) await send(handler, 'complete');
    assert.deepEqual(await handler.expire({ keepMs: HOUR }), { ended: 0, removed: 150 });
    assert.equal((await handler.listTasks({})).totalSize, 0);
  });

  test(`${name}: a blocking send and a stream hear how the task ended`, async (t) => {
    const { handler } = setUp(t);
    const sent = handler.sendMessage({ message: says('hang') });
    const seen: string[] = [];
    const stream = await handler.streamMessage({ message: says('hang') });
    const read = (async () => {
      for await (const { event } of stream) {
        if (event.kind === 'status-update') seen.push(event.status.state);
      }
    })();
    assert.deepEqual(await handler.expire({ keepMs: HOUR }), { ended: 2, removed: 0 });
    const task = await sent;
    assert.ok(task.kind === 'task' && task.status.state === 'canceled');
    await read;
    assert.deepEqual(seen, ['canceled']);
  });
}

/** A store that fails where it is told to. */
function failing(inner: TaskStore, broken: Set<string>): TaskStore {
  return new Proxy(inner, {
    get(target, name) {
      if (typeof name === 'string' && broken.has(name)) {
        return () => {
          throw new Error(`no ${name}`);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const operation of ['expired', 'setExpiry', 'delete', 'append', 'read']) {
  test(`a sweep survives a store that cannot ${operation}, and the next one does its work`, async (t) => {
    const broken = new Set<string>();
    const { logger, errors } = recorder();
    const store = failing(memoryStore(), broken);
    const handler = createHandler(agent().executor, { store, logger, now: () => 0 });
    t.after(() => handler.close());
    const asking = await send(handler, 'ask');
    const done = await send(handler, 'complete');
    broken.add(operation);
    await handler.expire({ keepMs: HOUR });
    assert.ok(errors.length > 0);
    broken.clear();
    await handler.expire({ keepMs: HOUR, now: Date.now() + 1000 });
    assert.equal((await handler.getTask({ id: asking.id })).status.state, 'canceled');
    await assert.rejects(handler.getTask({ id: done.id }), { kind: 'taskNotFound' });
  });
}

test('a webhook is told that its task expired', async (t) => {
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const handler = createHandler(agent().executor, {
    now: () => 0,
    logger: recorder().logger,
    deliver: {
      accept: (config) => ({ ...config, id: 'h' }),
      prepare:
        async ({ entry: { event } }) =>
        async () => {
          if (event.kind !== 'artifact-update') told.push(event.status.state);
          if (told.at(-1) === 'canceled') resolve();
          return 'taken';
        },
    },
  });
  t.after(() => handler.close());
  const pushNotificationConfig = { url: 'https://hook.example/' };
  const message = says('ask');
  await handler.sendMessage({ message, configuration: { pushNotificationConfig } });
  await handler.expire({ keepMs: HOUR });
  await promise;
  assert.deepEqual(told, ['submitted', 'input-required', 'canceled']);
});

test('a server that goes down in the middle of a sweep goes down in peace', async () => {
  const { logger, errors } = recorder();
  const handler = createHandler(agent().executor, {
    logger,
    now: () => 0,
    limits: { graceMs: 10 },
  });
  for (let n = 0; n < 10; n++) await send(handler, 'stubborn');
  const sweep = handler.expire({ keepMs: HOUR });
  await handler.close();
  await sweep;
  assert.deepEqual(errors, []);
});

test('a task that another node continues and ends while it is deleted is deleted, and one that goes on is not', async (t) => {
  const store = memoryStore();
  const executor: AgentExecutor = { async *execute() {} };
  const handler = createHandler(executor, { store, logger: recorder().logger });
  t.after(() => handler.close());
  const finished = async () => {
    const { id } = await send(handler, 'complete');
    await new Promise((resolve) => setImmediate(resolve));
    return id;
  };
  const continued = (state: TaskState) => {
    const remove = store.delete.bind(store);
    const mocked = t.mock.method(store, 'delete', async (...args: Parameters<typeof remove>) => {
      mocked.mock.restore();
      const [scope, taskId, seq = 0] = args;
      const { contextId } = store.head(scope, taskId)!;
      const message = says('go on');
      const append = (at: number, to: TaskState, said?: Message) =>
        update(taskId, at, to, said, scope, contextId);
      assert.deepEqual(store.append([append(seq, 'working', message)]), ['ok']);
      assert.deepEqual(store.append([append(seq + 1, state)]), ['ok']);
      return remove(...args);
    });
    return mocked;
  };
  const first = await finished();
  const failed = continued('failed');
  await handler.removeTask({ id: first });
  assert.equal(failed.mock.callCount(), 1);
  await assert.rejects(handler.getTask({ id: first }), { kind: 'taskNotFound' });
  const second = await finished();
  continued('input-required');
  const removal = handler.removeTask({ id: second });
  await assert.rejects(removal, { kind: 'unsupportedOperation' });
  assert.equal((await handler.getTask({ id: second })).status.state, 'input-required');
});

for (const [name, open] of Object.entries(STORES)) {
  test(`a deleted task is not found any more, even while a client still reads it (${name})`, async (t) => {
    const store = open(t);
    const { logger } = recorder();
    const executor: AgentExecutor = { async *execute() {} };
    const handler = createHandler(executor, { store, logger });
    t.after(() => handler.close());
    const { id } = await send(handler, 'complete');
    const reading = await handler.subscribe({ id, after: 0 });
    await handler.removeTask({ id });
    await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
    reading.close();
    const { removed } = await handler.expire({ now: Date.now() + HOUR });
    assert.equal(removed, 1);
  });
}
