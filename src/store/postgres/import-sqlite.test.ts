import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  agentSays,
  alice,
  artifact,
  bob,
  creation,
  update,
  webhook,
} from '../../../test/contract/task-store/events.ts';
import { testDatabase } from '../../../test/support/postgres.ts';
import { within } from '../../../test/support/within.ts';
import type { TaskState } from '../../protocol/index.ts';
import { createHandler, type Append, type Scope, type TaskStore } from '../../tasks/index.ts';
import { sqliteStore } from '../sqlite.ts';
import { importSqlite } from './import-sqlite.ts';
import { postgresStore } from './postgres-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-import-'));
const database = await testDatabase();
test.after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const secretKey = 'b'.repeat(43);
const file = join(folder, 'tasks.db');
const LAST = 249;

/** Everything that a client or an operator can see. */
async function contents(store: TaskStore) {
  const all = async (scope: Scope) => store.list({ ...scope, limit: 1000 });
  const heads = [...(await all(alice)).heads, ...(await all(bob)).heads];
  return {
    // Only PostgreSQL lists the time of the last artifact, and the node of a task.
    heads: heads.map((head) => ({ ...head, artifactAt: undefined, node: undefined })),
    totals: [(await all(alice)).total, (await all(bob)).total],
    context: (await store.list({ ...alice, contextId: 'c1', limit: 1 })).total,
    logs: await Promise.all(heads.map(async ({ taskId }) => store.read(taskId, 0, 10_000))),
    messages: [await store.findMessage(alice, 'm1'), await store.findMessage(alice, 'm \0')],
    push: await store.listPush('t1'),
    due: (await store.duePush({ limit: 10 })).map(({ taskId, dueAt }) => [taskId, dueAt]),
    letters: await store.deadLetters({ ...alice, limit: 10 }),
    expired: (await store.expired(100, 10)).map(({ taskId }) => taskId),
    unfinished: (await store.unfinished()).map(({ taskId }) => taskId).toSorted(),
  };
}

test('an import that is interrupted continues, and then everything is in the database', async () => {
  // The order of lists does not depend on the clock, which is set back all the time here.
  let time = Date.now();
  const now = () => time--;
  const source = sqliteStore(file, { secretKeyFile: join(folder, 'key'), logger, now });
  source.append([
    { ...creation('t1'), messageIds: ['m1', 'm \0', 'm1'], expiresAt: 50 },
    update('t1', 1, 'working', agentSays('on it \0')),
    artifact('t1', 2),
    { ...creation('id \0 \ud800', bob) },
  ]);
  for (let n = 0; n <= LAST; n++)
    source.append([creation(`n${n}`), update(`n${n}`, 1, 'completed')]);
  for (let n = 0; n < 3000; n++) source.append([artifact('t1', n + 3)]);
  const record = webhook('t1', 'w1');
  source.savePush({ ...record, config: { ...record.config, token: 'very-secret' } });
  const letter = { taskId: 't1', configId: 'w1', seq: 1, reason: 'gone', attempts: 9, at: 7 };
  const progress = { cursor: 1, attempts: 0, dueAt: 5 };
  source.savePushProgress([{ taskId: 't1', configId: 'w1', progress, deadLetter: letter }]);
  const before = await contents(source);
  const { next } = source.list({ ...alice, limit: 1 });
  source.close();

  const options = { from: { secretKeyFile: join(folder, 'key') }, to: { secretKey }, logger };
  const interrupted = new AbortController();
  const first = importSqlite(file, database.url, {
    ...options,
    signal: interrupted.signal,
    onProgress: () => interrupted.abort(),
  });
  await assert.rejects(first, { name: 'AbortError' });
  const counts: number[] = [];
  const onProgress = (tasks: number) => void counts.push(tasks);
  const total = LAST + 3;
  const imported = await importSqlite(file, database.url, { ...options, onProgress });
  assert.deepEqual(imported, { tasks: total, already: false });
  assert.equal(counts[0], total, 'the first group was not copied again');
  const again = await importSqlite(file, database.url, options);
  assert.deepEqual(again, { tasks: total, already: true });

  const store = await postgresStore(database.url, { secretKey, logger });
  assert.deepEqual(await contents(store), before);
  const page = await store.list({ ...alice, limit: 1, cursor: next });
  assert.equal(page.heads[0]?.taskId, before.heads[1]?.taskId, 'page tokens stay valid');
  assert.deepEqual(await store.append([update('t1', 3003, 'completed')]), ['ok']);
  await store.close();
});

test('a file that has changed since its import is not imported again', async () => {
  await using own = await testDatabase();
  const changing = join(folder, 'changing.db');
  const options = { from: { secretKey }, to: { secretKey }, logger };
  const change = (...batch: Append[]) => {
    const source = sqliteStore(changing, { secretKey, logger });
    source.append(batch);
    source.close();
  };
  const refusal = {
    message: /changing\.db was already imported into the database .*, and has changed since/,
    hint: 'import into an empty database',
  };
  change(creation('t1'), update('t1', 1, 'working'), creation('t2'));
  assert.deepEqual(await importSqlite(changing, own.url, options), { tasks: 2, already: false });
  // An import of an earlier version has stored only which tasks it has copied.
  await own.query(
    `UPDATE parley.meta SET value = convert_to((convert_from(value, 'UTF8')::jsonb - 'content')::text, 'UTF8')
     WHERE key = 'import'`,
  );
  assert.deepEqual(await importSqlite(changing, own.url, options), { tasks: 2, already: true });
  change(creation('t3'));
  await assert.rejects(importSqlite(changing, own.url, options), refusal);
  await using other = await testDatabase();
  await importSqlite(changing, other.url, options);
  change(update('t1', 2, 'completed'));
  await assert.rejects(importSqlite(changing, other.url, options), refusal);
});

test('a file that changes while its import is interrupted is not imported any further', async () => {
  await using own = await testDatabase();
  const changing = join(folder, 'interrupted.db');
  const source = sqliteStore(changing, { secretKey, logger });
  source.append([creation('t1')]);
  source.close();
  const interrupted = new AbortController();
  const options = { from: { secretKey }, to: { secretKey }, logger };
  const { signal } = interrupted;
  const onProgress = () => interrupted.abort();
  const first = importSqlite(changing, own.url, { ...options, signal, onProgress });
  await assert.rejects(first, { name: 'AbortError' });
  const later = sqliteStore(changing, { secretKey, logger });
  later.append([update('t1', 1, 'completed')]);
  later.close();
  const again = importSqlite(changing, own.url, options);
  await assert.rejects(again, /was already imported in part into .*, and has changed since/);
});

test('imported tasks that were interrupted are continued, and a task that waits for its first message waits', async (t) => {
  await using own = await testDatabase();
  const interrupted = join(folder, 'submitted.db');
  const hanging = createHandler(
    {
      async *execute({ message, signal }) {
        const [part] = message.parts;
        if (part?.kind === 'text' && part.text === 'work')
          yield { kind: 'status-update', state: 'working' };
        if (part?.kind === 'text' && part.text === 'queue')
          yield { kind: 'status-update', state: 'submitted' };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      rules: { resumes: true },
    },
    { store: sqliteStore(interrupted, { secretKey, logger }), logger, limits: { graceMs: 50 } },
  );
  const begin = async (text: string, taskId?: string) => {
    const message = { ...agentSays(text), role: 'user' as const, taskId };
    const task = await hanging.sendMessage({ message, configuration: { blocking: false } });
    assert.ok(task.kind === 'task');
    return task.id;
  };
  const submitted = await begin('think');
  const working = await begin('work');
  const reserved = await hanging.reserveTask({});
  const queued = await begin('queue', (await hanging.reserveTask({})).id);
  const reaches = async (id: string, state: TaskState) => {
    while ((await hanging.getTask({ id })).status.state !== state) await setImmediate();
  };
  const states = [reaches(working, 'working'), reaches(queued, 'submitted')];
  await within('both states', Promise.all(states), 10_000);
  await hanging.close();
  await importSqlite(interrupted, own.url, { from: { secretKey }, to: { secretKey }, logger });

  const resumed: string[] = [];
  const handler = createHandler(
    {
      async *execute({ task }) {
        resumed.push(task.id);
        yield { kind: 'status-update', state: 'completed' };
      },
      rules: { resumes: true },
    },
    { store: await postgresStore(own.url, { secretKey, logger }), logger },
  );
  t.after(() => handler.close());
  await handler.recover();
  const end = async (id: string) => {
    while ((await handler.getTask({ id })).status.state !== 'completed') await setImmediate();
  };
  const started = [submitted, working, queued];
  await within('the end of the tasks', Promise.all(started.map(end)), 10_000);
  assert.deepEqual(resumed.toSorted(), started.toSorted());
  assert.equal((await handler.getTask({ id: reserved.id })).status.state, 'submitted');
});

test('another file is not imported into a database that has tasks', async () => {
  const other = join(folder, 'other.db');
  sqliteStore(other, { secretKey, logger }).close();
  const options = { from: { secretKey }, to: { secretKey }, logger };
  await assert.rejects(
    importSqlite(other, database.url, options),
    /tasks that are not from this file/,
  );
  await using used = await testDatabase();
  const store = await postgresStore(used.url, { logger });
  await store.append([creation('t1')]);
  await store.close();
  await assert.rejects(importSqlite(other, used.url, options), /tasks that are not from this file/);
});

test('a missing file is not created, and a file without tasks does not prevent another import', async () => {
  await using own = await testDatabase();
  const options = { from: { secretKey }, to: { secretKey }, logger };
  const missing = join(folder, 'missing.db');
  await assert.rejects(importSqlite(missing, own.url, options), {
    message: `there is no file ${missing}`,
  });
  assert.equal(existsSync(missing), false);
  const empty = join(folder, 'empty.db');
  sqliteStore(empty, { secretKey, logger }).close();
  await importSqlite(empty, own.url, options);
  const full = join(folder, 'full.db');
  const source = sqliteStore(full, { secretKey, logger });
  source.append([creation('t1')]);
  source.close();
  assert.deepEqual(await importSqlite(full, own.url, options), { tasks: 1, already: false });
});
