import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { sqliteSessions } from '../../agent/sqlite/index.ts';
import { creation, update } from '../../../test/contract/task-store/events.ts';
import { sqliteStore } from '../../store/index.ts';
import { keepTasks } from '../../tasks/index.ts';
import { serveCoder } from './server.ts';
import { localSession } from './stored-sessions.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A server with --retention 90d, and functions to add an old session and to find out whether it is still there. */
async function served(t: TestContext, prepare?: (file: string) => Promise<void>) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-server-')));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'tasks.db');
  await prepare?.(file);
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (_: object, message: string) => void warnings.push(message),
    error() {},
    async flush() {},
  };
  const values = {
    workspace: [folder],
    model: 'offline',
    approval: undefined,
    sandbox: false,
    store: `sqlite:${file}`,
    durability: undefined,
    retention: '90d',
  };
  const environment = { PARLEY_HOME: folder, XDG_CONFIG_HOME: folder };
  const server = await serveCoder({ values, environment }, log);
  const old = sqliteSessions(`${file}.sessions`, { now: () => Date.now() - 100 * DAY });
  t.after(() => old.close());
  const key = localSession('old');
  const gone = async (): Promise<void> => {
    while (await old.get(key)) await new Promise((resolve) => setImmediate(resolve));
  };
  return { server, warnings, add: () => old.open(key), gone, get: () => old.get(key) };
}

test('parley serve removes old sessions when it starts, and then every hour', async (t) => {
  const { server, add, gone, get } = await served(t);
  await add();
  server.begin();
  await gone();
  await add();
  t.mock.timers.tick(HOUR);
  await gone();
  await server.close();
  await server.store.close();
  await add();
  t.mock.timers.tick(HOUR);
  assert.ok(await get());
});

test('parley serve removes the tasks of sessions that no longer exist', async (t) => {
  const scope = { tenant: '', owner: '' };
  const { server } = await served(t, async (file) => {
    const terminal = sqliteStore(file, { now: () => Date.now() - 30 * DAY });
    await keepTasks(terminal, { ...scope, contextId: 'gone' });
    terminal.append([creation('old', scope, 'gone')]);
    terminal.append([update('old', 1, 'completed', undefined, scope, 'gone')]);
    terminal.close();
  });
  assert.ok(await server.store.head(scope, 'old'));
  server.begin();
  while (await server.store.head(scope, 'old')) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await server.close();
  await server.store.close();
});

test('after the clock was set forward, sessions are not removed for an hour', async (t) => {
  const { server, add, gone, get, warnings } = await served(t);
  server.begin();
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + 50 * DAY);
  await add();
  t.mock.timers.tick(HOUR);
  assert.ok(await get());
  assert.deepEqual(warnings, ['the clock was set forward: sessions are not removed for an hour']);
  t.mock.timers.tick(HOUR);
  await gone();
  await server.close();
  await server.store.close();
});
