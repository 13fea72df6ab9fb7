import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../protocol/index.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { startSweeper } from './sweeper.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

test('a task that has expired is ended by itself, and removed later', async (t) => {
  const handler = createHandler(
    {
      receive: () => ({ expiresAt: Date.now() }),
      async *execute() {
        yield { kind: 'status-update', state: 'input-required' };
      },
    },
    { logger, now: () => 0 },
  );
  t.after(() => handler.close());
  const parts = [{ kind: 'text' as const, text: 'go' }];
  const { id } = (await handler.sendMessage({
    message: { kind: 'message', messageId: 'm', role: 'user', parts },
  })) as Task;
  const stop = new AbortController();
  const swept: object[] = [];
  const { promise: removed, resolve } = Promise.withResolvers<void>();
  const info = (fields: object) => {
    swept.push(fields);
    if (swept.length === 2) resolve();
  };
  const stream = await handler.subscribe({ id });
  // The timer keeps no process alive; this test has to.
  const alive = setInterval(() => {}, 1000);
  t.after(() => clearInterval(alive));
  const { signal } = stop;
  startSweeper({ handler, logger: { ...logger, info }, everyMs: 1, keepExpiredMs: 1, signal });
  const states: string[] = [];
  for await (const { event } of stream) {
    if (event.kind === 'status-update') states.push(event.status.state);
  }
  assert.deepEqual(states, ['canceled']);
  await removed;
  stop.abort();
  assert.deepEqual(swept, [
    { ended: 1, removed: 0 },
    { ended: 0, removed: 1 },
  ]);
  await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
});

test('sweeps follow each other, and none follows the end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sweeps: ((result: { ended: number; removed: number }) => void)[] = [];
  const expire: RequestHandler['expire'] = () => new Promise((resolve) => sweeps.push(resolve));
  const finish = async () => {
    sweeps.at(-1)?.({ ended: 0, removed: 0 });
    await new Promise((resolve) => setImmediate(resolve));
  };
  const stop = new AbortController();
  const { signal } = stop;
  startSweeper({ handler: { expire }, logger, everyMs: 1000, keepExpiredMs: 1, signal });
  assert.equal(sweeps.length, 0);
  t.mock.timers.tick(1000);
  assert.equal(sweeps.length, 1);
  t.mock.timers.tick(10_000);
  assert.equal(sweeps.length, 1, 'while one is under way, there is no other');
  await finish();
  t.mock.timers.tick(1000);
  assert.equal(sweeps.length, 2);
  await finish();
  stop.abort();
  t.mock.timers.tick(10_000);
  assert.equal(sweeps.length, 2);
});
