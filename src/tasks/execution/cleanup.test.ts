import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../../protocol/index.ts';
import { createHandler } from '../handler.ts';

test('a task fails although its executor does not release its resources after an error', async () => {
  const forever = new Promise<never>(() => {});
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const executor = {
    execute: () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error('broken')),
        return: () => forever,
      }),
    }),
  };
  const handler = createHandler(executor, { logger: silent, limits: { graceMs: 20 } });
  const parts = [{ kind: 'text' as const, text: 'go' }];
  const message = { kind: 'message' as const, messageId: 'm', role: 'user' as const, parts };
  const task = (await handler.sendMessage({ message, configuration: { blocking: true } })) as Task;
  assert.equal(task.status.state, 'failed');
  assert.equal(handler.running, 0);
});
