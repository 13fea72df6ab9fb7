import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentExecutor, createHandler } from '../index.ts';

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
