// A live session that cannot be opened or closed without errors still releases what it has opened.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { memorySessions } from '../../agent/index.ts';
import { createLog } from '../program/log.ts';
import { openLiveSession } from './live-session.ts';
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
