import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { migrate } from '../base/sqlite/index.ts';
import type { Message, Task } from '../protocol/index.ts';
import { STORE } from '../store/migrations.ts';
import { sqliteStore } from '../store/sqlite.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { keepTasks } from './retention.ts';
import { memoryStore } from './store/memory-store.ts';
import { KEPT } from './store/store-rules.ts';
import type { TaskStore } from './store/store.ts';

const DAY = 86_400_000;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

function fileIn(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-retention-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'tasks.db');
}

const STORES: Record<string, (t: TestContext, now: () => number) => TaskStore> = {
  memory: (_, now) => memoryStore({ now }),
  sqlite: (t, now) => sqliteStore(fileIn(t), { now }),
};

/** Completes at once, unless the message is `ask`. A message of `N bytes` gets an answer of this size. */
const executor: AgentExecutor = {
  async *execute({ message }) {
    const text = message.parts[0]?.kind === 'text' ? message.parts[0].text : '';
    if (text === 'ask') yield { kind: 'status-update', state: 'input-required' };
    const bytes = Number(/^(\d+) bytes$/.exec(text)?.[1] ?? 0);
    const parts = [{ kind: 'text' as const, text: 'x'.repeat(bytes) }];
    if (bytes > 0) yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts } };
  },
};

let made = 0;
async function send(handler: RequestHandler, text: string, extra: object = {}): Promise<Task> {
  const parts = [{ kind: 'text' as const, text }];
  const message: Message = { kind: 'message', messageId: `r${++made}`, role: 'user', parts };
  return (await handler.sendMessage({ message, ...extra })) as Task;
}

async function idsOf(handler: RequestHandler): Promise<string[]> {
  return (await handler.listTasks({ pageSize: 100 })).tasks.map(({ id }) => id);
}

for (const [name, open] of Object.entries(STORES)) {
  function opened(t: TestContext) {
    const clock = { now: Date.now() };
    const store = open(t, () => clock.now);
    const handler = createHandler(executor, { store, logger: quiet });
    t.after(() => handler.close());
    return { handler, clock, store };
  }

  test(`${name}: finished tasks are removed after 30 days, and tasks that wait are not`, async (t) => {
    const { handler, clock } = opened(t);
    const waiting = await send(handler, 'ask');
    await send(handler, 'go');
    clock.now += 10 * DAY;
    const later = await send(handler, 'go');
    const { old } = await handler.expire({ retention: {}, now: clock.now + 21 * DAY });
    assert.equal(old, 1);
    assert.deepEqual(await idsOf(handler), [later.id, waiting.id]);
  });

  test(`${name}: in a store that is too large, the tasks that finished first are removed`, async (t) => {
    const { handler } = opened(t);
    const waiting = await send(handler, 'ask');
    const tasks = [];
    for (let n = 0; n < 60; n++) tasks.push((await send(handler, '50000 bytes')).id);
    const { old = 0 } = await handler.expire({ retention: { maxBytes: 1_500_000 } });
    assert.ok(old >= 30 && old < 60, `${old} tasks were removed`);
    assert.deepEqual((await idsOf(handler)).toReversed(), [waiting.id, ...tasks.slice(old)]);
    assert.equal((await handler.expire({ retention: { maxBytes: 1_500_000 } })).old, 0);
  });

  test(`${name}: tasks that their session keeps are not removed by another server`, async (t) => {
    const { clock, store } = opened(t);
    const earlier = createHandler(executor, { store, logger: quiet });
    const before = await send(earlier, '50000 bytes');
    const other = await send(earlier, '50000 bytes');
    await keepTasks(store, { tenant: '', owner: '', contextId: before.contextId });
    const handler = createHandler(executor, { store, logger: quiet });
    const own = await send(handler, '50000 bytes');
    const reserved = await handler.reserveTask({});
    await handler.cancelTask({ id: reserved.id });
    const retention = { maxBytes: 1 };
    const { old } = await handler.expire({ retention, now: clock.now + 1000 * DAY });
    assert.equal(old, 1);
    const kept = [before.id, own.id, reserved.id];
    assert.deepEqual((await idsOf(handler)).toSorted(), kept.toSorted());
    await assert.rejects(handler.getTask({ id: other.id }), { kind: 'taskNotFound' });
  });

  test(`${name}: tasks that their session keeps do not count, so they do not displace others`, async (t) => {
    const { store } = opened(t);
    const earlier = createHandler(executor, { store, logger: quiet });
    const { contextId } = await send(earlier, 'go');
    for (let n = 0; n < 40; n++) await send(earlier, '50000 bytes', { contextId });
    for (const { id } of (await earlier.listTasks({ pageSize: 100 })).tasks) {
      await store.setExpiry({ tenant: '', owner: '' }, id, KEPT);
    }
    for (let n = 0; n < 40; n++) await send(earlier, '50000 bytes');
    const sweep = async (maxBytes: number) =>
      (await earlier.expire({ retention: { maxBytes } })).old ?? 0;
    assert.equal(await sweep(2_600_000), 0);
    const removed = await sweep(1_500_000);
    assert.ok(removed > 0 && removed < 40, `${removed} tasks were removed`);
  });

  test(`${name}: a task that is being read is kept`, async (t) => {
    const { handler } = opened(t);
    const { id } = await send(handler, 'ask');
    const stream = await handler.subscribe({ id });
    await handler.cancelTask({ id });
    const retention = { maxAgeMs: 0, maxBytes: 0 };
    assert.equal((await handler.expire({ retention, now: Date.now() + 1 })).old, 0);
    for await (const _ of stream);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await handler.expire({ retention, now: Date.now() + 1 })).old, 1);
  });

  test(`${name}: an undelivered webhook keeps its task for a day`, async (t) => {
    const { handler, clock, store } = opened(t);
    const { id } = await send(handler, 'go');
    await store.savePush({
      taskId: id,
      config: { id: 'p', url: 'https://example.org/' },
      version: '1.0',
      progress: { cursor: 1, attempts: 3, dueAt: clock.now + 2 * DAY },
    });
    const sweep = (ms: number) =>
      handler.expire({ retention: { maxAgeMs: 0, maxBytes: 0 }, now: clock.now + ms });
    assert.equal((await sweep(DAY - 1)).old, 0);
    assert.deepEqual(await idsOf(handler), [id]);
    assert.equal((await sweep(DAY)).old, 1);
  });
}

test('after the clock was set forward, ages are not trusted at first', async (t) => {
  const warned: string[] = [];
  const warn = (_: object, text: string) => void warned.push(text);
  const handler = createHandler(executor, { logger: { ...quiet, warn } });
  t.after(() => handler.close());
  await send(handler, 'go');
  const sweep = (days: number) => handler.expire({ retention: {}, now: Date.now() + days * DAY });
  assert.equal((await sweep(0)).old, 0);
  assert.equal((await sweep(4000)).old, 0);
  assert.equal((await sweep(4000)).old, 0);
  assert.equal(warned.length, 1);
  assert.equal((await handler.expire({ retention: { maxBytes: 0 } })).old, 1, 'the size counts');
});

test('the file becomes smaller when tasks are removed, and other requests do not wait', async (t) => {
  const file = fileIn(t);
  const handler = createHandler(executor, { store: sqliteStore(file), logger: quiet });
  t.after(() => handler.close());
  for (let n = 0; n < 200; n++) await send(handler, '1000000 bytes');
  const before = statSync(file).size;
  assert.ok(before > 150_000_000);
  // A request needs several turns of the event loop, and a fast machine needs few turns for the whole sweep.
  let turns = 0;
  let turn = setImmediate(function next() {
    turns++;
    turn = setImmediate(next);
  });
  const sweeping = handler.expire({ retention: { maxBytes: 2_000_000 } });
  const others = Array.from({ length: 20 }, () => send(handler, 'go'));
  const { old = 0 } = await sweeping;
  clearImmediate(turn);
  assert.ok(turns > 1, `the sweep took ${turns} turns of the event loop`);
  await Promise.all(others);
  assert.ok(old >= 196);
  assert.ok(statSync(file).size < 10_000_000, `${statSync(file).size} bytes`);
});

test('a small file of an earlier version gives its space back, too', (t) => {
  const file = fileIn(t);
  const old = new DatabaseSync(file);
  migrate(old, STORE, 5);
  old.exec(
    `CREATE TABLE filler (a); INSERT INTO filler VALUES (randomblob(20000000)); DROP TABLE filler;`,
  );
  old.close();
  assert.ok(statSync(file).size > 20_000_000);
  sqliteStore(file).close();
  assert.ok(existsSync(file) && statSync(file).size < 1_000_000);
});
