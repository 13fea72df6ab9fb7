import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskStore } from './store.ts';
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

for (const text of ['work', 'ask']) {
  test(`a cancel that the store cannot take is not acknowledged (${text})`, async (t) => {
    const inside = memoryStore();
    let full = false;
    const store: TaskStore = new Proxy(inside, {
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
