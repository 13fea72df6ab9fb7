import assert from 'node:assert/strict';
import type { MaybePromise } from '../base/index.ts';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { A2AError, type Message } from '../protocol/index.ts';
import type {
  AgentExecutor,
  ExecutionContext,
  Reception,
  RequestContext,
} from './execution/executor.ts';
import { createHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const alice = { user: { id: 'alice' } };
const scope = { tenant: '', owner: 'alice' };

function says(messageId: string, extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text: 'go' }];
  return { kind: 'message', messageId, role: 'user', parts, ...extra };
}

function setUp(receive: (context: RequestContext) => MaybePromise<Reception | undefined>) {
  const asked: RequestContext[] = [];
  const executed: ExecutionContext[] = [];
  const executor: AgentExecutor = {
    receive(context, task) {
      if (task) return undefined;
      asked.push(context);
      return receive(context);
    },
    async *execute(context) {
      executed.push(context);
      yield {
        kind: 'status-update',
        state: context.turn.length > 1 ? 'completed' : 'input-required',
      };
    },
  };
  const store = memoryStore();
  return { handler: createHandler(executor, { store, logger }), store, asked, executed };
}

for (const [how, answer] of [
  ['at once', <T>(value: T) => value],
  ['later', <T>(value: T) => Promise.resolve(value)],
] as const) {
  test(`what receive answers (${how}) is the new task's metadata and expiry`, async () => {
    const { handler, store, asked, executed } = setUp(() =>
      answer({ metadata: { model: 'small' }, expiresAt: 1000 }),
    );
    const metadata = { wish: 'fast' };
    const task = await handler.sendMessage({ message: says('m'), metadata }, alice);
    assert.ok(task.kind === 'task');
    assert.deepEqual(task.metadata, { model: 'small' });
    assert.deepEqual(executed[0]?.task.metadata, { model: 'small' });
    assert.equal(asked[0]?.contextId, task.contextId);
    assert.deepEqual(asked[0]?.metadata, metadata);
    assert.equal(store.head(scope, task.id)?.expiresAt, 1000);
  });

  test(`a message that receive refuses (${how}) leaves nothing behind, and may come again`, async () => {
    let open = false;
    const { handler, store, executed } = setUp(() => {
      if (open) return answer(undefined);
      const error = new A2AError('rateLimited', 'The budget is spent');
      if (how === 'at once') throw error;
      return Promise.reject(error);
    });
    await assert.rejects(handler.sendMessage({ message: says('m') }, alice), {
      kind: 'rateLimited',
      message: 'The budget is spent',
    });
    assert.equal(store.list({ ...scope, limit: 1 }).total, 0);
    assert.equal(executed.length, 0);
    open = true;
    const task = await handler.sendMessage({ message: says('m') }, alice);
    assert.ok(task.kind === 'task');
    assert.equal(task.metadata, undefined);
  });
}

test('receive is asked once about a message that starts a task, and not when it is repeated', async () => {
  const { handler, asked } = setUp(() => undefined);
  const { id } = (await handler.sendMessage({ message: says('m1') })) as { id: string };
  await handler.sendMessage({ message: says('m1') });
  const task = await handler.sendMessage({ message: says('m2', { taskId: id }) });
  assert.ok(task.kind === 'task' && task.status.state === 'completed');
  assert.equal(asked.length, 1);
});

test('the same message twice, while receive is pending, starts one task', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const { handler, store } = setUp(() => promise);
  const both = [1, 2].map(() => handler.sendMessage({ message: says('m') }, alice));
  resolve(undefined);
  const [one, two] = (await Promise.all(both)) as { id: string }[];
  assert.equal(one?.id, two?.id);
  assert.equal(store.list({ ...scope, limit: 1 }).total, 1);
});

test('a server that goes down while receive is pending starts nothing', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const { handler, executed } = setUp(() => promise);
  const sent = handler.sendMessage({ message: says('m') });
  const closed = handler.close();
  resolve(undefined);
  await assert.rejects(sent, { kind: 'unavailable' });
  await closed;
  assert.equal(executed.length, 0);
});

test('the answer to a first message is made without reading the log', async () => {
  const store = memoryStore();
  let reads = 0;
  const read = store.read.bind(store);
  store.read = (...args) => {
    reads++;
    return read(...args);
  };
  const handler = createHandler(
    {
      async *execute() {
        await nextTurn();
        yield { kind: 'status-update', state: 'completed', message: 'done' };
      },
    },
    { store, logger },
  );
  const task = await handler.sendMessage({ message: says('m') }, alice);
  assert.ok(task.kind === 'task' && task.status.state === 'completed');
  assert.equal(task.history?.[0]?.messageId, 'm');
  assert.equal(reads, 0);
});
