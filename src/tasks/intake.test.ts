import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as own from '../protocol/errors.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler } from './handler.ts';
import type { Task } from '../protocol/index.ts';

/** The same module, loaded a second time. */
const copy = (await import(`${import.meta.resolve('../protocol/errors.ts')}?copy`)) as typeof own;

function refusing(error: Error): AgentExecutor {
  return {
    receive() {
      throw error;
    },
    async *execute() {},
  };
}

async function refusal(error: Error): Promise<unknown> {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const handler = createHandler(refusing(error), { logger });
  const parts = [{ kind: 'text' as const, text: 'hello' }];
  const message = { kind: 'message' as const, messageId: 'm', role: 'user' as const, parts };
  return handler.sendMessage({ message }).then(
    () => undefined,
    (refused: unknown) => refused,
  );
}

test('an executor of another copy of the package refuses a message as one of ours does', async () => {
  const theirs = new copy.A2AError('invalidParams', 'no such workspace', { info: { path: 'x' } });
  assert.ok(!(theirs instanceof own.A2AError));
  const refused = await refusal(theirs);
  assert.ok(refused instanceof own.A2AError);
  assert.deepEqual(
    [refused.kind, refused.message, refused.detail],
    ['invalidParams', 'no such workspace', { info: { path: 'x' } }],
  );
});

test('what only calls itself an A2AError stays what it is', async () => {
  const odd = Object.assign(new Error('secret'), { name: 'A2AError', kind: 'toString' });
  assert.equal(await refusal(odd), odd);
});

test('a known message id is refused with another context or task, and the task stays as it is', async () => {
  const executor: AgentExecutor = {
    async *execute() {
      yield { kind: 'status-update', state: 'input-required' };
    },
  };
  const handler = createHandler(executor, {
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const parts = [{ kind: 'text' as const, text: 'hello' }];
  const message = { kind: 'message' as const, messageId: 'm', role: 'user' as const, parts };
  const first = (await handler.sendMessage({ message })) as Task;
  const { id: taskId, contextId } = first;
  const other = (await handler.sendMessage({ message: { ...message, messageId: 'n' } })) as Task;
  for (const ids of [
    { contextId: 'elsewhere' },
    { contextId: other.contextId },
    { taskId: other.id },
    { taskId: other.id, contextId: other.contextId },
    { taskId, contextId: other.contextId },
  ]) {
    await assert.rejects(handler.sendMessage({ message: { ...message, ...ids } }), {
      kind: 'invalidParams',
    });
  }
  for (const ids of [{}, { contextId }, { taskId }, { taskId, contextId }]) {
    assert.deepEqual(await handler.sendMessage({ message: { ...message, ...ids } }), first);
  }
  assert.equal((await handler.listTasks({})).totalSize, 2);
  await handler.close();
});
