// The webhooks of a live session end with it, because the tokens of its clients do.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json as jsonOf } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { memorySessions } from '../../src/agent/index.ts';
import { openLiveSession } from '../../src/cli/coder/live-session.ts';
import { openLiveStore } from '../../src/cli/coder/live-store.ts';
import { createLog } from '../../src/cli/program/log.ts';
import type { PushNotificationConfig } from '../../src/protocol/index.ts';
import { SqliteStore } from '../../src/store/sqlite.ts';
import { makePlace } from '../coder/support.ts';
import { fakeInternet } from '../support/fake-internet.ts';
import { json } from './http-support.ts';
import { Watcher } from './support.ts';

/** A receiver of webhooks at a public name, and the states of the tasks that it got. */
async function receiver(t: TestContext) {
  fakeInternet(t, () => ['93.184.215.14']);
  const states: unknown[] = [];
  const server = createServer((request, response) => {
    void jsonOf(request).then((body) => {
      states.push((body as { status?: { state?: string } }).status?.state);
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://hooks.example:${port}/x`, states };
}

/** A session that can be closed and resumed. */
function program(t: TestContext) {
  const { home, workspace } = makePlace(t);
  const environment = {
    PARLEY_HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    PARLEY_LOG_LEVEL: 'silent',
  };
  const warnings: string[] = [];
  const warn = (_fields: object, text: string) => warnings.push(text);
  const log = { ...createLog(environment), warn };
  const place = { kind: 'sqlite', file: join(home, 'tasks.db'), durability: 'normal' } as const;
  const sessions = memorySessions();
  const open = async (resume?: string) => {
    const opened = await openLiveSession({
      values: { model: 'offline', approval: undefined, sandbox: false },
      environment,
      roots: [workspace],
      place,
      sessions,
      resume,
      address: { port: 0, host: '127.0.0.1', tokens: [] },
      log,
    });
    t.after(() => opened.close());
    return opened;
  };
  return {
    open,
    warnings,
    /** Opens the tasks of the session while no program has them open. */
    store: (sessionId: string) =>
      openLiveStore({ place, named: false, sessionId, environment, log }),
  };
}

type Opened = Awaited<ReturnType<typeof openLiveSession>>;

async function turn({ live }: Opened, text: string): Promise<void> {
  const terminal = new Watcher(live.join({ kind: 'terminal' }));
  await terminal.session.prompt(text);
  await terminal.state('completed');
  await terminal.session.close();
}

async function ask({ url = '' }: Opened, name: string, params: object) {
  const method = `tasks/pushNotificationConfig/${name}`;
  const { text } = await json(url, { jsonrpc: '2.0', id: 1, method, params });
  return (JSON.parse(text) as { result?: unknown }).result;
}

const add = ({ url }: { readonly url: string }, opened: Opened) =>
  ask(opened, 'set', { taskId: opened.live.taskId, pushNotificationConfig: { url } });

test('a webhook gets the last events of a session, and is removed when the session ends', async (t) => {
  const hook = await receiver(t);
  const { open, store } = program(t);
  const opened = await open();
  const { sessionId, live } = opened;
  assert.ok(await add(hook, opened));
  await turn(opened, 'who are you?');
  await opened.close();
  assert.equal(hook.states.at(-1), 'completed');
  const stored = await store(sessionId);
  const { taskId } = live;
  assert.equal((await stored.head({ tenant: '', owner: '' }, taskId))?.status.state, 'completed');
  assert.deepEqual(await stored.listPush(taskId), []);
  await stored.close();
});

test('a webhook that a killed process has left gets nothing when its session is resumed', async (t) => {
  const hook = await receiver(t);
  const { open, store } = program(t);
  const before = await open();
  const { sessionId } = before;
  const { taskId } = before.live;
  await turn(before, 'who are you?');
  await before.close();
  // A killed process leaves its webhooks, here one that has not got any event yet.
  const left = await store(sessionId);
  const config: PushNotificationConfig & { id: string } = { id: 'left', url: hook.url };
  const progress = { cursor: 0, attempts: 0, dueAt: 0 };
  await left.savePush({ taskId, config, version: '0.3', progress });
  await left.close();

  const resumed = await open(sessionId);
  assert.equal(resumed.live.taskId, taskId);
  assert.deepEqual(await ask(resumed, 'list', { id: taskId }), []);
  await turn(resumed, 'and now?');
  await resumed.close();
  assert.deepEqual(hook.states, []);
});

test('if the webhooks cannot be removed at the end, the store is closed, and the reason is logged', async (t) => {
  const { open, store, warnings } = program(t);
  const opened = await open();
  await turn(opened, 'who are you?');
  const failing = t.mock.method(SqliteStore.prototype, 'listPush', () => {
    throw new Error('the disk failed');
  });
  await opened.close();
  failing.mock.restore();
  assert.deepEqual(warnings, ['failed to remove the webhooks of the session']);
  const stored = await store(opened.sessionId);
  await stored.close();
});
