/** `parley push`, and the routes that it uses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bearerTokens } from '../../src/server.ts';
import type { Task } from '../../src/protocol/index.ts';
import { rest1, sample, start, userMessage } from '../rules/support.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { assertRefused, folder, lines, parley } from './support.ts';

test('the owner of a task lists its dead letters and sends them again, over REST and with parley push', async (t) => {
  let works = false;
  const seen: string[] = [];
  const hook = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    request.resume().on('end', () => {
      if (works) seen.push(id);
      response.writeHead(works ? 204 : 500).end();
      hook.emit('seen');
    });
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  t.after(() => {
    hook.close();
    hook.closeAllConnections();
  });
  const { port } = hook.address() as AddressInfo;
  const { url } = await start(t, sample(), {
    authenticate: bearerTokens(new Map(['ann', 'bob'].map((name) => [name, name]))),
    push: { allowNetworks: ['127.0.0.0/8'] },
    limits: { pushRetryMs: 1, pushGiveUpMs: 0 },
  });
  const ask = async (token: string, path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method, headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const pushNotificationConfig = { id: 'my hook', url: `http://127.0.0.1:${port}/` };
  const params = { message: userMessage('hello'), configuration: { pushNotificationConfig } };
  const ann = { authorization: 'Bearer ann' };
  const { id } = (await rest1.call(url, 'sendMessage', params, { headers: ann })) as Task;
  const deadLetters = async () => (await ask('ann', '/deadLetters')).body['deadLetters'];
  let letters: unknown;
  do letters = await deadLetters();
  while (!Array.isArray(letters) || letters.length < 4);
  const about = {
    taskId: id,
    pushNotificationConfigId: 'my hook',
    reason: 'HTTP 500',
    attempts: 6,
  };
  const expected = [4, 3, 2, 1].map((seq) => Object.assign({ seq }, about));
  assert.partialDeepStrictEqual(letters, expected);
  const webhook = `/tasks/${id}/pushNotificationConfigs/my%20hook`;
  assert.deepEqual((await ask('ann', `/v1${webhook}/deadLetters`)).body, { deadLetters: letters });
  assert.deepEqual((await ask('bob', '/deadLetters')).body, { deadLetters: [] });
  assert.equal((await ask('bob', `${webhook}/deadLetters`)).status, 404);
  assert.equal((await ask('bob', `${webhook}/deadLetters:retry`, 'POST')).status, 404);
  assert.equal((await ask('nobody', '/deadLetters')).status, 401);

  const flags = ['--header', 'Authorization: Bearer ann'];
  const listed = await parley(['push', 'list', url, ...flags, '--json']);
  assert.deepEqual([listed.code, lines(listed.out)], [0, letters]);
  works = true;
  const retried = await parley(['push', 'retry', url, id, 'my hook', ...flags]);
  assert.deepEqual(
    [retried.code, retried.out],
    [0, 'Sending the events again, starting with the first of 4 dead letters\n'],
  );
  while (seen.length < 4) await once(hook, 'seen');
  assert.deepEqual(
    seen,
    [1, 2, 3, 4].map((seq) => `${id}.my%20hook.${seq}`),
  );
  assert.deepEqual(await deadLetters(), []);
  assert.deepEqual((await ask('ann', `${webhook}/deadLetters:retry`, 'POST')).body, { retried: 0 });
});

test('parley push says what the server did instead of an answer', async (t) => {
  let type = 'text/html';
  let location = '';
  const server = createServer((request, response) => {
    const moved = location !== '' && request.url === '/deadLetters';
    response.writeHead(moved ? 302 : 200, moved ? { location } : { 'content-type': type });
    response.end(type === 'text/html' ? '<h1>Welcome</h1>' : '{"deadLetters": [');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const list = () => parley(['push', 'list', `http://127.0.0.1:${port}`]);
  assertRefused(await list(), 1, /The agent answered HTTP 200 OK with text\/html/);
  type = 'application/json';
  assertRefused(await list(), 1, /The agent's response is unusable: it is not JSON/);
  location = 'https://elsewhere.example/';
  assertRefused(await list(), 4, /redirects to https:\/\/elsewhere\.example\/, which is not/);
});

test('parley push says that there may be more dead letters than it lists', async (t) => {
  const file = path.join(folder, 'many.db');
  const store = sqliteStore(file);
  t.after(() => store.close());
  const progress = { cursor: 0, attempts: 0, dueAt: 0 };
  for (const taskId of ['a', 'b']) {
    const event = { kind: 'task', id: taskId, contextId: 'c', status: { state: 'completed' } };
    const entries = [{ seq: 1, event: event as Task }];
    store.append([{ tenant: '', owner: 'ann', taskId, contextId: 'c', expected: 0, entries }]);
    const config = { id: 'hook', url: 'https://hook.example/' };
    store.savePush({ taskId, config, version: '1.0', progress });
  }
  const give = (taskId: string, letters: number) => {
    const key = { taskId, configId: 'hook' };
    const changes = Array.from({ length: letters }, (_, seq) => {
      const deadLetter = { ...key, seq, reason: 'HTTP 500', attempts: 6, at: seq };
      return { ...key, progress, deadLetter };
    });
    store.savePushProgress(changes);
  };
  const list = () => parley(['push', 'list', '--store', `sqlite:${file}`, '--json']);
  give('a', 999);
  const few = await list();
  assert.deepEqual([few.code, lines(few.out).length, few.err], [0, 999, '']);
  give('b', 2);
  const many = await list();
  assert.deepEqual([many.code, lines(many.out).length], [0, 1000]);
  assert.match(many.err, /Only the latest 1000 dead letters are listed: there may be more\./);
});

test('the operator lists the dead letters of all users from the file, while the server uses it', async (t) => {
  const file = path.join(folder, 'dead.db');
  const store = sqliteStore(file);
  t.after(() => store.close());
  const at = Date.parse('2026-01-02T03:04:05Z');
  for (const [n, owner] of ['ann', 'bob'].entries()) {
    const taskId = `task-${owner}`;
    const event = { kind: 'task', id: taskId, contextId: 'c', status: { state: 'completed' } };
    const entries = [{ seq: 1, event: event as Task }];
    store.append([{ tenant: 'x', owner, taskId, contextId: 'c', expected: 0, entries }]);
    const progress = { cursor: 0, attempts: 0, dueAt: 0 };
    const config = { id: 'hook', url: 'https://hook.example/', token: 'secret' };
    store.savePush({ taskId, config, version: '1.0', progress });
    const letter = { taskId, configId: 'hook', seq: 1, reason: 'HTTP 500', attempts: 6 };
    const deadLetter = { ...letter, at: at + n };
    store.savePushProgress([{ taskId, configId: 'hook', progress, deadLetter }]);
  }
  const listed = await parley(['push', 'list', '--store', `sqlite:${file}`, '--json']);
  assert.equal(listed.code, 0, listed.err);
  assert.deepEqual(
    lines(listed.out).map(({ owner, tenant, taskId, reason }) => [owner, tenant, taskId, reason]),
    [
      ['bob', 'x', 'task-bob', 'HTTP 500'],
      ['ann', 'x', 'task-ann', 'HTTP 500'],
    ],
  );
  const shown = await parley(['push', 'list', '--store', file]);
  assert.match(shown.out, /owner +tenant +task .*\nbob +x +task-bob +hook +1 /);
  assert.doesNotMatch(shown.out + listed.out, /secret|hook\.example/);
  const retry = await parley(['push', 'retry', '--store', file, 'task-ann', 'hook']);
  assertRefused(retry, 2, /--store works only with parley push list/);
  const other = path.join(folder, 'notes.db');
  writeFileSync(other, 'not a database, but some text that is long enough'.repeat(100));
  assert.equal((await parley(['push', 'list', '--store', other])).code, 2);
});
