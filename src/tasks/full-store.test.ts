import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskStore } from './store/store.ts';
import { type AgentExecutor, createHandler, memoryStore } from './index.ts';

/** Says that it works, or asks, and waits. */
const waiting: AgentExecutor = {
  async *execute({ message, signal }) {
    const asks = message.parts[0]?.kind === 'text' && message.parts[0].text === 'ask';
    yield { kind: 'status-update', state: asks ? 'input-required' : 'working' };
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
  },
};

const logger = { debug() {}, info() {}, warn() {}, error() {} };

let full = false;

function fillable(): TaskStore {
  return new Proxy(memoryStore(), {
    get(target, name) {
      if (name === 'append' && full) {
        return () => {
          throw new Error('the disk is full');
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const text of ['work', 'ask']) {
  test(`a cancel that the store cannot take is not acknowledged (${text})`, async (t) => {
    const store = fillable();
    const handler = createHandler(waiting, { store, logger, limits: { graceMs: 20 } });
    t.after(() => handler.close());
    const parts = [{ kind: 'text' as const, text }];
    const task = await handler.sendMessage({
      message: { kind: 'message', messageId: 'm', role: 'user', parts },
      configuration: { blocking: false },
    });
    assert.ok(task.kind === 'task');
    full = true;
    for (const attempt of ['first', 'second, of a task that nobody executes any more']) {
      const refused = { kind: 'unavailable' };
      await assert.rejects(handler.cancelTask({ id: task.id }), refused, attempt);
    }
    full = false;
  });
}

test('an agent whose task was lost with the store is told when the task is ended', async (t) => {
  const { promise: told, resolve } = Promise.withResolvers<string>();
  const { promise: go, resolve: goOn } = Promise.withResolvers<void>();
  const executor: AgentExecutor = {
    async *execute() {
      yield { kind: 'status-update', state: 'working' };
      await go;
      yield { kind: 'status-update', state: 'working', message: 'still' };
    },
    cancel: (taskId) => resolve(taskId),
  };
  const handler = createHandler(executor, { store: fillable(), logger });
  t.after(() => handler.close());
  const parts = [{ kind: 'text' as const, text: 'go' }];
  const stream = await handler.streamMessage({
    message: { kind: 'message', messageId: 'm', role: 'user', parts },
  });
  let id = '';
  for await (const { event } of stream) {
    if (event.kind === 'task') id = event.id;
    if (event.kind !== 'status-update') continue;
    full = true;
    goOn();
  }
  full = false;
  const { status } = await handler.getTask({ id });
  assert.equal(status.state, 'failed');
  assert.equal(await told, id);
});
