// A live session that cannot be opened or closed without errors still releases what it has opened.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { testDatabase } from '../../../test/support/postgres.ts';
import { memorySessions } from '../../agent/index.ts';
import { createHandler } from '../../tasks/index.ts';
import { createLog } from '../program/log.ts';
import { openLiveSession } from './live-session.ts';
import { openStore } from '../program/store-location.ts';
import { openCoder } from './setup.ts';
import { localSession } from './stored-sessions.ts';

async function place(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'parley-live-session-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const root = join(home, 'workspace');
  mkdirSync(root);
  const environment = { PARLEY_HOME: home, XDG_CONFIG_HOME: home, PARLEY_LOG_LEVEL: 'silent' };
  const sessions = memorySessions();
  await sessions.open(localSession('s1'));
  const setup = {
    values: { model: 'offline', approval: undefined, sandbox: false },
    environment,
    roots: [root],
    place: { kind: 'sqlite', file: join(home, 'tasks.db'), durability: 'normal' },
    sessions,
    resume: 's1',
    address: { port: 0, host: '127.0.0.1', tokens: [] },
    log: createLog(environment),
  } as const;
  return { home, sessions, setup };
}

test('if the server cannot be made, the task store is closed', async (t) => {
  const { home, setup } = await place(t);
  const key = join(home, 'signing-key.pem');
  writeFileSync(key, 'nonsense');
  await assert.rejects(openLiveSession(setup), /signing-key\.pem/);
  rmSync(key);
  const opened = await openLiveSession(setup);
  await opened.close();
});

test('if the session store fails, the server is closed nevertheless', async (t) => {
  const { sessions, setup } = await place(t);
  const opened = await openLiveSession(setup);
  const url = opened.url ?? '';
  await (await fetch(url)).body?.cancel();
  t.mock.method(sessions, 'get', () => Promise.reject(new Error('the disk failed')));
  await assert.rejects(opened.close(), /the disk failed/);
  await assert.rejects(fetch(url));
});

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a server with the same store keeps the tasks of a session, and removes its own (${kind})`, async (t) => {
    await using database = await testDatabase();
    const { setup } = await place(t);
    const { url } = database;
    const shared = kind === 'sqlite' ? setup.place : ({ kind, url } as const);
    const values = { ...setup.values, store: 'shared' };
    const { resume: _, ...fresh } = setup;
    const opened = await openLiveSession({ ...fresh, place: shared, values });
    const parts = [{ kind: 'text' as const, text: 'hello' }];
    const message = { kind: 'message', messageId: 'm', role: 'user', parts } as const;
    const asked = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(asked);
    const answer = await fetch(opened.url ?? '', { method: 'POST', headers, body });
    assert.match(await answer.text(), /"state":"completed"/);
    await opened.close();
    const store = await openStore(shared, setup.environment, setup.log);
    const handler = createHandler({ async *execute() {} }, { store, logger: setup.log });
    t.after(() => handler.close());
    await handler.sendMessage({ message: { ...message, messageId: 'other' } });
    const now = Date.now() + 31 * 86_400_000;
    const { old } = await handler.expire({ now, retention: {} });
    const { tasks } = await handler.listTasks({});
    await handler.close();
    assert.equal(old, 1);
    assert.deepEqual(
      tasks.map(({ contextId, status }) => [contextId, status.state]),
      [[opened.sessionId, 'completed']],
    );
  });
}

test('a failure to remove old sessions is only logged', async (t) => {
  const { sessions, setup } = await place(t);
  const prune = () => Promise.reject(new Error('the disk failed'));
  const warnings: string[] = [];
  const logger = { ...setup.log, warn: (_fields: object, text: string) => warnings.push(text) };
  const values = { ...setup.values, retention: '1d' };
  const failing = Object.assign(sessions, { prune });
  const coder = await openCoder({ ...setup, sessions: failing, values, logger });
  t.after(() => coder.close());
  await coder.sweep();
  assert.deepEqual(warnings, ['failed to remove old sessions']);
});
