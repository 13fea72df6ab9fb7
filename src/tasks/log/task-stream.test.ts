import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError, type StreamItem } from '../../protocol/index.ts';
import {
  type AgentExecutor,
  createHandler,
  memoryStore,
  opening,
  TaskStream,
  type TaskStore,
} from '../index.ts';

/** Says that it works, and then nothing. */
const silent: AgentExecutor = {
  async *execute({ signal }) {
    yield { kind: 'status-update', state: 'working' };
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
  },
};

test('who leaves a stream while nothing happens is gone at once, and the task goes on', async (t) => {
  const handler = createHandler(silent);
  t.after(() => handler.close());
  const parts = [{ kind: 'text' as const, text: 'hi' }];
  const stream = await handler.streamMessage({
    message: { kind: 'message', messageId: 'm', role: 'user', parts },
  });
  const events = stream[Symbol.asyncIterator]();
  const first = await events.next();
  assert.ok(!first.done && first.value.event.kind === 'task');
  await events.next();
  const third = events.next();
  await events.return?.();
  assert.deepEqual(await third, { done: true, value: undefined });
  assert.equal(handler.running, 1);
});

const task = (id: string) =>
  ({ kind: 'task', id, contextId: 'c', status: { state: 'submitted' } }) as const;

async function ids(stream: AsyncIterable<StreamItem>): Promise<string[]> {
  const found: string[] = [];
  for await (const { event } of stream) if (event.kind === 'task') found.push(event.id);
  return found;
}

test('a stream that opens later starts with its first item and continues with the other stream', async () => {
  const next = Promise.withResolvers<TaskStream>();
  let ended = 0;
  const onEnd = () => void ended++;
  const stream = TaskStream.later(next.promise, { first: opening(task('one')), onEnd });
  const seen = ids(stream);
  next.resolve(TaskStream.of(task('two')));
  assert.deepEqual(await seen, ['one', 'two']);
  // One that is read only after the other has opened is the same.
  const late = TaskStream.later(Promise.resolve(TaskStream.of(task('two'))), { onEnd });
  await next.promise;
  assert.deepEqual(await ids(late), ['two']);
  assert.equal(ended, 2);
});

test('a stream that never opens fails for its reader, through other streams too, early or late', async () => {
  const error = new A2AError('conflict', 'dropped');
  const fails = () => TaskStream.later(Promise.reject(error), { first: opening(task('one')) });
  await assert.rejects(ids(fails()), { message: 'dropped' });
  await assert.rejects(ids(TaskStream.later(Promise.resolve(fails()))), { message: 'dropped' });
  const late = fails();
  await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(ids(late), { message: 'dropped' });
});

test('a stream that is left before it opens closes the other one', async () => {
  const next = Promise.withResolvers<TaskStream>();
  let ended = 0;
  const stream = TaskStream.later(next.promise, { onEnd: () => void ended++ });
  const seen = ids(stream);
  stream.close();
  assert.deepEqual(await seen, []);
  const handler = createHandler(silent);
  const parts = [{ kind: 'text' as const, text: 'hi' }];
  const message = { kind: 'message' as const, messageId: 'm', role: 'user' as const, parts };
  const other = await handler.streamMessage({ message });
  next.resolve(other);
  await next.promise;
  // It has ended: nothing but its first item is left.
  assert.equal((await ids(other)).length, 1);
  assert.equal(ended, 1);
  await handler.close();
});

/** Counts the reads of a store. Like a store on disk, it is durable. */
function countingStore() {
  let reads = 0;
  const store = new Proxy<TaskStore>(memoryStore(), {
    get(target, key) {
      if (key === 'durable') return true;
      if (key === 'read') reads++;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { store, reads: () => reads };
}

test('the stream of a new task reads nothing from the store', async (t) => {
  const { store, reads } = countingStore();
  const quick: AgentExecutor = {
    async *execute() {
      yield { kind: 'status-update', state: 'working' };
    },
  };
  const handler = createHandler(quick, { store });
  t.after(() => handler.close());
  for (const historyLength of [undefined, 0]) {
    const parts = [{ kind: 'text' as const, text: 'hi' }];
    const messageId = `m${historyLength}`;
    const stream = await handler.streamMessage({
      message: { kind: 'message', messageId, role: 'user', parts },
      ...(historyLength !== undefined && { configuration: { historyLength } }),
    });
    const seen: unknown[] = [];
    for await (const { event, seq } of stream) {
      const said = event.kind === 'task' ? (event.history?.length ?? 0) : undefined;
      seen.push([seq, event.kind, said]);
    }
    assert.deepEqual(seen, [
      [1, 'task', historyLength ?? 1],
      [2, 'status-update', undefined],
      [3, 'status-update', undefined],
    ]);
  }
  assert.equal(reads(), 0);
});
