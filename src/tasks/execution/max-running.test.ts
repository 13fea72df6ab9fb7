import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { createHandler, type RequestHandler } from '../handler.ts';

/** Returns a handler whose tasks never end. */
function setUp(maxRunning: number): RequestHandler {
  return createHandler(
    {
      async *execute() {
        yield { kind: 'status-update', state: 'working' };
        await new Promise(() => {});
      },
    },
    { limits: { maxRunning, graceMs: 10 } },
  );
}

let made = 0;

/** Starts tasks of a user until one is refused. Returns their number. */
async function fill(handler: RequestHandler, id?: string): Promise<number> {
  for (let started = 0; ; started++) {
    const parts = [{ kind: 'text' as const, text: 'go' }];
    const base = { kind: 'message' as const, role: 'user' as const };
    const message = { ...base, messageId: `m${++made}`, parts };
    try {
      await handler.sendMessage(
        { message, configuration: { blocking: false } },
        id === undefined ? {} : { user: { id } },
      );
    } catch (error) {
      assert.ok(error instanceof A2AError && error.kind === 'unavailable');
      return started;
    }
  }
}

test('more executions than allowed are refused as unavailable', async () => {
  const handler = setUp(2);
  assert.equal(await fill(handler), 2);
  assert.equal((await handler.listTasks({})).totalSize, 2);
  await handler.close();
});

test('one user cannot take all places, and others get some at once', async () => {
  const handler = setUp(40);
  const started = [];
  for (const user of ['greedy', 'second', 'third']) started.push(await fill(handler, user));
  assert.deepEqual(started, [30, 8, 2]);
  await handler.close();
});

test('a user whose tasks have ended can have as many as before', async () => {
  const handler = setUp(3);
  const ann = { user: { id: 'ann' } };
  assert.equal(await fill(handler, 'ann'), 3);
  const { tasks } = await handler.listTasks({}, ann);
  await Promise.all(tasks.map(({ id }) => handler.cancelTask({ id }, ann)));
  assert.equal(handler.running, 0);
  assert.equal(await fill(handler, 'ann'), 3);
  await handler.close();
});
