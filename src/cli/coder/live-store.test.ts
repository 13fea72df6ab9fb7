// Deleting a stored session with all that belongs to it.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createEvent, memorySessions } from '../../agent/index.ts';
import { delegatedSession } from '../../agent/delegated.ts';
import { creation, update } from '../../../test/contract/task-store/events.ts';
import { sqliteStore } from '../../store/index.ts';
import { keepTasks } from '../../tasks/index.ts';
import { createLog } from '../program/log.ts';
import { isStoreInUse, openStore } from '../program/store-location.ts';
import { deleteSession, openLiveStore, removeOrphanTasks, sweepLiveStores } from './live-store.ts';
import { localSession } from './stored-sessions.ts';

async function place(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'parley-live-store-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const environment = { PARLEY_HOME: home };
  const sessions = memorySessions();
  const key = localSession('s1');
  const helper = delegatedSession(key, 'call_1');
  await sessions.open(key);
  await sessions.open(helper);
  const call = { kind: 'function-call', id: 'call_1', name: 'task', args: {} } as const;
  const content = { role: 'model', parts: [call] } as const;
  const event = { id: 'e1', runId: 'r1', timestamp: 0, author: 'coder', actions: {}, content };
  await sessions.append(key, [event]);
  const file = join(home, 'tasks.db');
  const options = {
    place: { kind: 'sqlite', file, durability: 'normal' },
    sessionId: 's1',
    environment,
    log: createLog(environment),
    sessions,
  } as const;
  const left = async () =>
    (await Promise.all([key, helper].map((each) => sessions.get(each)))).filter(Boolean).length;
  return { home, options, left };
}

test('the sessions of its helpers and its file of tasks are deleted, too', async (t) => {
  const { home, options, left } = await place(t);
  const store = await openLiveStore({ ...options, named: false });
  await assert.rejects(deleteSession({ ...options, named: false }), (error: unknown) =>
    isStoreInUse(error),
  );
  assert.equal(await left(), 2, 'nothing is deleted while the session is open');
  await store.close();
  const file = join(home, 'live', 's1.db');
  assert.ok(existsSync(file));
  await deleteSession({ ...options, named: false });
  assert.equal(await left(), 0);
  assert.ok(!existsSync(file));
});

test('a session is not deleted while its turn runs in a process without a lock, and not removed for a day', async (t) => {
  let now = Date.now();
  const sessions = memorySessions({ now: () => now });
  const { home, options: before } = await place(t);
  const options = { ...before, sessions };
  const key = localSession('s1');
  await sessions.open(key);
  const start = { metadata: { first: 'coder' } };
  now = Date.now() - 86_000_000;
  await sessions.append(key, [createEvent({ runId: 'r1', author: 'user' }, start)]);
  await assert.rejects(deleteSession({ ...options, named: false }), {
    message: /running, waits for an answer, or was interrupted.*parley --resume s1/,
  });
  const sweep = async () => {
    await (await openLiveStore({ ...options, named: false })).close();
    await sweepLiveStores({ ...options, values: { retention: '1KB' } });
    return existsSync(join(home, 'live', 's1.db'));
  };
  assert.equal(await sweep(), true);
  now = Date.now() - 86_400_000;
  await sessions.append(key, [createEvent({ runId: 'r1', author: 'user' })]);
  await assert.rejects(deleteSession({ ...options, named: false }), { kind: 'unavailable' });
  assert.equal(await sweep(), false);
});

test('in a store that is shared, the tasks of sessions that no longer exist are removed after a week', async (t) => {
  const { options } = await place(t);
  const { sessions } = options;
  let time = Date.now() - 8 * 86_400_000;
  const store = sqliteStore(options.place.file, { now: () => time });
  t.after(() => store.close());
  const finished = (id: string, contextId: string) => {
    const scope = { tenant: '', owner: '' };
    store.append([
      creation(id, scope, contextId),
      update(id, 1, 'completed', undefined, scope, contextId),
    ]);
  };
  finished('of a server', 's2');
  await keepTasks(store, { tenant: '', owner: '', contextId: 's1' });
  finished('of s1', 's1');
  finished('of s2', 's2');
  time = Date.now();
  finished('young', 's2');
  await removeOrphanTasks(store, sessions);
  const { heads } = store.list({ tenant: '', owner: '', limit: 10 });
  const left = heads.map(({ taskId }) => taskId).toSorted();
  assert.deepEqual(left, ['of a server', 'of s1', 'young']);
});

test('sessions whose ids differ only in unsafe characters, or after 100 characters, have files of their own', async (t) => {
  const { home, options } = await place(t);
  const ids = ['a_b', 'a b', 'a/b', 'A_b', 'x'.repeat(101), 'x'.repeat(102)];
  const stores = await Promise.all(
    ids.map((sessionId) => openLiveStore({ ...options, named: false, sessionId })),
  );
  for (const store of stores) await store.close();
  const files = readdirSync(join(home, 'live')).filter((name) => name.endsWith('.db'));
  assert.equal(files.length, ids.length);
});

test('in a store that sessions share, only the tasks of the session are deleted', async (t) => {
  const { options, left } = await place(t);
  const open = () => openStore(options.place, options.environment, options.log);
  const scope = { tenant: '', owner: '' };
  const store = await open();
  for (const [taskId, contextId] of [
    ['t1', 's1'],
    ['t2', 's2'],
  ] as const) {
    const status = { state: 'completed' } as const;
    const event = { kind: 'task', id: taskId, contextId, status } as const;
    const entries = [{ seq: 1, event }];
    await store.append([{ ...scope, taskId, contextId, expected: 0, entries }]);
  }
  await store.close();
  await deleteSession({ ...options, named: true });
  assert.equal(await left(), 0);
  const after = await open();
  const { heads } = await after.list({ ...scope, limit: 10 });
  await after.close();
  assert.deepEqual(
    heads.map(({ taskId }) => taskId),
    ['t2'],
  );
});

test('--retention with a size removes the sessions that were used least recently, except open ones', async (t) => {
  const { home, options } = await place(t);
  const fileOf = (id: string) => join(home, 'live', `${id}.db`);
  const store = await openLiveStore({ ...options, sessionId: 's0', named: false });
  t.after(() => store.close());
  for (const [days, sessionId] of ['s0', 's1', 's2', 's3'].entries()) {
    await options.sessions.open(localSession(sessionId));
    if (days > 0) await (await openLiveStore({ ...options, sessionId, named: false })).close();
    utimesSync(fileOf(sessionId), days * 86_400, days * 86_400);
  }
  const left = () => ['s0', 's1', 's2', 's3'].filter((id) => existsSync(fileOf(id)));
  await sweepLiveStores({ ...options, values: { retention: undefined } });
  assert.deepEqual(left(), ['s0', 's1', 's2', 's3'], 'by default, sessions are kept');
  await sweepLiveStores({ ...options, values: { retention: '0.15MB' } });
  assert.deepEqual(left(), ['s0', 's3']);
  assert.equal(await options.sessions.get(localSession('s2')), undefined);
});

/** Makes the file of a session that was last used on this day of 1970. */
async function makeFile(
  { home, options }: Awaited<ReturnType<typeof place>>,
  sessionId: string,
  day: number,
): Promise<string> {
  const before = new Set(readdirSync(home).includes('live') ? readdirSync(join(home, 'live')) : []);
  await (await openLiveStore({ ...options, sessionId, named: false })).close();
  const name = readdirSync(join(home, 'live')).find(
    (each) => each.endsWith('.db') && !before.has(each),
  );
  assert.ok(name !== undefined);
  const file = join(home, 'live', name);
  utimesSync(file, day * 86_400, day * 86_400);
  return file;
}

test('files of sessions that no longer exist are removed, also if other files exceed the size', async (t) => {
  const made = await place(t);
  const orphan = await makeFile(made, 'gone', 1);
  const kept = await makeFile(made, 's1', 2);
  await sweepLiveStores({ ...made.options, values: { retention: '0.05MB' } });
  assert.ok(!existsSync(orphan));
  assert.ok(!existsSync(kept), 'its session is larger than the size');
});

test('the file of a session with any id is kept while the session exists', async (t) => {
  const made = await place(t);
  const ids = ['a b', 'ä/ö', 'x'.repeat(150)];
  const files = [];
  for (const id of ids) {
    await made.options.sessions.open(localSession(id));
    files.push(await makeFile(made, id, 1));
  }
  await sweepLiveStores({ ...made.options, values: { retention: undefined } });
  assert.deepEqual(files.map(existsSync), [true, true, true]);
  await sweepLiveStores({ ...made.options, values: { retention: '0.05MB' } });
  assert.deepEqual(files.map(existsSync), [false, false, false]);
  for (const id of ids) assert.equal(await made.options.sessions.get(localSession(id)), undefined);
});

test('old files are removed however many sessions have newer files', async (t) => {
  const made = await place(t);
  const orphan = await makeFile(made, 'gone', 1);
  for (let at = 0; at < 250; at++) {
    await made.options.sessions.open(localSession(`n${at}`));
    const file = join(made.home, 'live', `n${at}.db`);
    writeFileSync(file, '');
    utimesSync(file, 2 * 86_400, 2 * 86_400);
  }
  await sweepLiveStores({ ...made.options, values: { retention: undefined } });
  assert.ok(!existsSync(orphan));
  assert.ok(existsSync(join(made.home, 'live', 'n0.db')));
});

test('the file of an open session is kept, even if the session is not stored', async (t) => {
  const made = await place(t);
  const file = await makeFile(made, 'gone', 1);
  const store = await openLiveStore({ ...made.options, sessionId: 'gone', named: false });
  t.after(() => store.close());
  utimesSync(file, 86_400, 86_400);
  await sweepLiveStores({ ...made.options, values: { retention: undefined } });
  assert.ok(existsSync(file));
});
