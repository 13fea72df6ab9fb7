/** The coding agent on several nodes, which share a database and a workspace. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { postgresArtifacts, postgresSessions } from '../../src/agent/postgres/index.ts';
import { postgresStore } from '../../src/store/postgres/postgres-store.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  startCoder,
  stream,
  userMessage,
  type Place,
} from '../coder/support.ts';
import { RawClient } from '../live/raw-client.ts';
import { serveSession, Watcher } from '../live/support.ts';
import { within } from '../support/within.ts';
import { clusterDatabase, silent } from './nodes.ts';

const database = await clusterDatabase();
after(() => database.drop());

/** Starts nodes that share a model, so that the script continues wherever a turn continues. */
async function startNodes(
  t: TestContext,
  script: readonly ScriptedResponse[],
): Promise<{ one: string; other: string; place: Place; stopOne: () => Promise<void> }> {
  const place = makePlace(t);
  const model = scriptedModel(script);
  const start = async () => {
    const sessions = await postgresSessions(database.url, { poolSize: 2 });
    t.after(() => sessions.close());
    const store = await postgresStore(database.url, { logger: silent, poolSize: 3 });
    // Each machine has its own data folder.
    const home = join(place.home, store.cluster.node);
    mkdirSync(home);
    return startCoder(t, { ...place, home }, { model, sessions, server: { store } });
  };
  const [one, other] = [await start(), await start()];
  return { one: one.url, other: other.url, place, stopOne: () => one.stop() };
}

const DONE: ScriptedResponse = [{ text: 'Done.' }];
const WRITE: ScriptedResponse = [
  { call: { name: 'write_file', args: { path: 'note.txt', content: 'written' } } },
];

const WRITE_AGAIN: ScriptedResponse = [
  { call: { name: 'write_file', args: { path: 'note.txt', content: 'again' } } },
];

async function ask(url: string, text: string) {
  const events = await stream(url, userMessage(text));
  const [task] = events;
  assert.ok(task?.kind === 'task');
  const call = events.map(callIn).find((each) => each?.confirmation_request !== undefined);
  assert.ok(call, 'no question');
  return { id: task.id, callId: call.tool_call_id };
}

const proceed = (id: string, callId: string) =>
  confirmation(id, { tool_call_id: callId, selected_option_id: 'proceed_once' });

test('an approval is answered at another node, where the turn continues', async (t) => {
  const { one, other, place } = await startNodes(t, [WRITE, DONE]);
  const { id, callId } = await ask(one, 'write a note');
  const file = join(place.workspace, 'note.txt');
  assert.equal(existsSync(file), false);
  const answered = await within(
    'the answer',
    rpc(other, 'message/send', { message: proceed(id, callId) }),
  );
  assert.equal(answered.error, undefined);
  assert.equal(answered.result?.status.state, 'completed');
  assert.equal(readFileSync(file, 'utf8'), 'written');
  const seen = await rpc(one, 'tasks/get', { id });
  assert.equal(seen.result?.status.state, 'completed');
  const late = await rpc(one, 'message/send', { message: proceed(id, callId) });
  assert.ok(late.error, 'the second answer was accepted');
});

test('an approval outlives the node that has asked', async (t) => {
  const { one, other, place, stopOne } = await startNodes(t, [WRITE, DONE]);
  const { id, callId } = await ask(one, 'write a note');
  await stopOne();
  const answered = await within(
    'the answer',
    rpc(other, 'message/send', { message: proceed(id, callId) }),
  );
  assert.equal(answered.result?.status.state, 'completed');
  assert.equal(readFileSync(join(place.workspace, 'note.txt'), 'utf8'), 'written');
});

test('a conversation continues at another node, with its history', async (t) => {
  const { one, other } = await startNodes(t, [[{ text: 'First.' }], [{ text: 'Second.' }]]);
  const first = await rpc(one, 'message/send', { message: userMessage('begin') });
  const { contextId } = first.result!;
  const second = await rpc(other, 'message/send', { message: userMessage('go on', { contextId }) });
  assert.equal(second.result?.status.state, 'completed');
  assert.equal(second.result.contextId, contextId);
});

test('of two answers at two nodes one is accepted, and the tool runs once', async (t) => {
  const append: ScriptedResponse = [
    { call: { name: 'run_shell_command', args: { command: 'echo run >> runs.txt' } } },
  ];
  const { one, other, place } = await startNodes(t, [append, DONE]);
  const { id, callId } = await ask(one, 'run it');
  const replies = await Promise.all(
    [one, other].map((url) => rpc(url, 'message/send', { message: proceed(id, callId) })),
  );
  assert.equal(
    replies.filter(({ error }) => error === undefined).length,
    1,
    JSON.stringify(replies),
  );
  const done = await rpc(other, 'tasks/get', { id });
  assert.equal(done.result?.status.state, 'completed');
  assert.equal(readFileSync(join(place.workspace, 'runs.txt'), 'utf8'), 'run\n');
});

/** Asks for a WebSocket. Returns the status, and the body of an answer that is not one. */
async function upgrade(url: string): Promise<{ status: number | undefined; body: string }> {
  const asked = request(`${url}/ws`, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  asked.on('upgrade', ({ statusCode }, socket) => {
    socket.destroy();
    asked.emit('response', { statusCode });
  });
  asked.end();
  const [response] = await within('an answer to the upgrade', once(asked, 'response'));
  let body = '';
  if (response.statusCode !== 101) for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, body };
}

test('the tasks of a live session are read at every node, but only its own process serves /ws', async (t) => {
  const store = await postgresStore(database.url, { logger: silent, poolSize: 3 });
  const session = await serveSession(t, { script: [[{ text: 'Hello.' }]], server: { store } });
  const { other } = await startNodes(t, []);
  const watcher = new Watcher(session.live.join({ kind: 'terminal' }));
  const taskId = await watcher.until((item) =>
    item.kind === 'snapshot' ? item.snapshot.taskId : undefined,
  );
  assert.equal((await upgrade(session.url)).status, 101);
  const refused = await upgrade(other);
  assert.equal(refused.status, 404);
  assert.match(refused.body, /Nothing is served at this path/);
  const seen = await rpc(other, 'tasks/get', { id: taskId });
  assert.equal(seen.result?.id, taskId);
});

test('clients of /ws see and steer a turn that another node continues', async (t) => {
  const place = makePlace(t);
  const model = scriptedModel([WRITE, DONE, WRITE_AGAIN, DONE]);
  const shared = async () => {
    const sessions = await postgresSessions(database.url, { poolSize: 2 });
    t.after(() => sessions.close());
    const store = await postgresStore(database.url, { logger: silent, poolSize: 3 });
    return { model, sessions, server: { store } };
  };
  const session = await serveSession(t, { ...(await shared()), place });
  const home = join(place.home, 'other');
  mkdirSync(home);
  const other = await startCoder(t, { ...place, home }, await shared());
  const phone = new RawClient(t, session.ws, 'a2a');
  await phone.opened;
  const file = join(place.workspace, 'note.txt');
  await phone.say('write a note');
  const first = await within('the question', phone.pending());
  const answer = proceed(session.live.taskId, first.tool_call_id);
  const answered = await rpc(other.url, 'message/send', { message: answer });
  assert.equal(answered.result?.status.state, 'completed');
  await within('the end of the turn', phone.state('completed'));
  assert.equal(readFileSync(file, 'utf8'), 'written');
  const reject = { tool_call_id: first.tool_call_id, selected_option_id: 'cancel' };
  const late = await phone.ask('session/confirm', reject);
  assert.match(JSON.stringify(late.error), /ALREADY_RESOLVED/);
  // The other node has executed the last turn. The next prompt and its answer still work here.
  await phone.say('write it again');
  const second = await within('the second question', phone.pending(1));
  const allow = { tool_call_id: second.tool_call_id, selected_option_id: 'proceed_once' };
  assert.deepEqual((await phone.ask('session/confirm', allow)).result, { resolved: true });
  await within('the end of the second turn', phone.state('completed', 2));
  assert.equal(readFileSync(file, 'utf8'), 'again');
});

test('the tasks, sessions and artifacts of a process share a pool of connections', async () => {
  const own = await clusterDatabase();
  const store = await postgresStore(own.url, { logger: silent });
  const sessions = await postgresSessions(own.url);
  const artifacts = await postgresArtifacts(own.url);
  try {
    const key = { app: 'app', user: 'user', id: 'session' };
    const uses = Array.from({ length: 20 }, () => [
      store.unfinished(),
      sessions.list(key),
      artifacts.list(key),
    ]);
    await Promise.all(uses.flat());
    const connections = await store.database.db.query<{ count: number }>(
      'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()',
    );
    assert.deepEqual(connections, [{ count: 10 }]);
  } finally {
    await store.close();
    await sessions.close();
    await artifacts.close();
    await own.drop();
  }
});
