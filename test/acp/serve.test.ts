// ACP on `parley serve`: each user has sessions of their own, in the workspaces of the server.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { methods, type ListSessionsRequest } from '@agentclientprotocol/sdk';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { servedAcp } from '../../src/cli/coder/served-acp.ts';
import { createCoder } from '../../src/coder/coder.ts';
import { coderServeOptions } from '../../src/coder/serve-options.ts';
import { bearerTokens } from '../../src/http/admission.ts';
import { serve } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { makePlace } from '../coder/support.ts';
import { allowed, Editor, silent } from './support.ts';

const tokens = new Map([
  ['ann', 'a'],
  ['bob', 'b'],
]);

/** A server with two workspaces and two users. */
async function startServer(t: TestContext, script: readonly ScriptedResponse[]) {
  const { workspace, home } = makePlace(t);
  const other = join(home, 'other');
  mkdirSync(other);
  const sessions = sqliteSessions(join(home, 'sessions.db'));
  const coder = await createCoder({
    roots: [workspace, other],
    sessions,
    configFolder: join(home, 'config'),
    dataFolder: home,
    logger: silent,
    model: scriptedModel(script),
  });
  const own = coderServeOptions(coder);
  const acp = servedAcp({ coder, sessions, logger: silent });
  const server = serve(coder.agent, {
    ...own,
    ...acp,
    routes: [...own.routes, ...acp.routes],
    authenticate: bearerTokens(tokens),
    logger: silent,
    store: sqliteStore(join(home, 'tasks.db')),
  });
  const listening = await server.listen(0);
  t.after(async () => {
    await listening.close(0);
    await coder.close();
    await sessions.close();
  });
  const url = `${listening.url}/acp`;
  const connect = (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const editor = new Editor(createHttpStream(url, { headers }));
    t.after(() => editor.connection.close());
    return editor;
  };
  return { workspace, other, connect, url, server };
}

const write = { name: 'write_file', args: { path: 'a.txt', content: 'a' } };

test('a session works in the folder that the client names, and its tasks belong to its user', async (t) => {
  const { connect, other, server } = await startServer(t, [[{ call: write }], [{ text: 'Done.' }]]);
  const ann = connect('a');
  const { sessionId } = await ann.open(other);
  ann.answer = () => allowed;
  assert.deepEqual(await ann.prompt('write'), { stopReason: 'end_turn' });
  assert.deepEqual([ann.text, readFileSync(join(other, 'a.txt'), 'utf8')], ['Done.', 'a']);
  const tasksOf = async (id: string) => {
    const { tasks } = await server.handler.listTasks({ contextId: sessionId }, { user: { id } });
    return tasks.length;
  };
  assert.deepEqual([await tasksOf('ann'), await tasksOf('bob')], [1, 0]);
});

test('a session is loaded by its user only, and in its own folder', async (t) => {
  const { connect, workspace, other } = await startServer(t, [[{ text: 'Hello.' }]]);
  const ann = connect('a');
  const { sessionId } = await ann.open(other);
  const again = connect('a');
  await again.initialize();
  await assert.rejects(again.load(sessionId, workspace), {
    code: -32602,
    message: /cwd: the session belongs to another folder/,
  });
  await again.load(sessionId, other);
  await ann.prompt('hi');
  ann.connection.close();
  await again.until(() => again.text === 'Hello.');
  const bob = connect('b');
  await bob.initialize();
  await assert.rejects(bob.load(sessionId, other), { code: -32002 });
  again.connection.close();
  const later = connect('a');
  await later.initialize();
  await later.load(sessionId, other);
  assert.deepEqual([later.heard, later.text], [['hi'], 'Hello.']);
});

test('a client that disconnects, or loads a session again, does not end it for another client', async (t) => {
  const { connect, workspace, server } = await startServer(t, [
    [{ text: 'One.' }],
    [{ text: 'Two.' }],
    [{ text: 'Three.' }],
  ]);
  const ann = connect('a');
  const { sessionId } = await ann.open(workspace);
  await ann.load(sessionId, workspace);
  assert.deepEqual(await ann.prompt('first'), { stopReason: 'end_turn' });
  const phone = connect('a');
  await phone.initialize();
  await phone.load(sessionId, workspace);
  await phone.prompt('second');
  const { streams } = server;
  assert.ok(streams > 0);
  ann.connection.close();
  const deadline = performance.now() + 10_000;
  while (server.streams >= streams) {
    assert.ok(performance.now() < deadline, 'the server did not notice that a client left');
    await new Promise(setImmediate);
  }
  assert.deepEqual(await phone.prompt('third'), { stopReason: 'end_turn' });
  assert.match(phone.text, /Two\.Three\.$/);
});

test('session/close cancels the turn, unless another client has the session open', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const { connect, workspace, server } = await startServer(t, [[{ call }]]);
  const [ann, phone] = [connect('a'), connect('a')];
  const { sessionId } = await ann.open(workspace);
  await phone.initialize();
  await phone.load(sessionId, workspace);
  const close = (editor: Editor) =>
    editor.connection.agent.request(methods.agent.session.close, { sessionId });
  const states = async () => {
    const { tasks } = await server.handler.listTasks(
      { contextId: sessionId },
      { user: { id: 'ann' } },
    );
    return tasks.map(({ status }) => status.state).filter((state) => state !== 'submitted');
  };
  ann.prompt('run').catch(() => {});
  await phone.until(() => phone.asked.length === 1);
  await close(ann);
  assert.deepEqual(await states(), ['input-required']);
  await close(phone);
  assert.deepEqual(await states(), ['canceled']);
});

test('each user sees only their own sessions in the list', async (t) => {
  const { connect, workspace, other } = await startServer(t, [
    [{ text: 'One.' }],
    [{ text: 'Two.' }],
  ]);
  const [ann, bob] = [connect('a'), connect('b')];
  await Promise.all([ann.open(other), bob.open(workspace)]);
  await ann.prompt('of ann');
  await bob.prompt('of bob');
  const listed = async (editor: Editor, query: ListSessionsRequest = {}) => {
    const { agent } = editor.connection;
    const { sessions } = await agent.request(methods.agent.session.list, query);
    return sessions.map(({ sessionId, cwd, title }) => [sessionId, cwd, title]);
  };
  assert.deepEqual(await listed(ann), [[ann.sessionId, other, 'of ann']]);
  assert.deepEqual(await listed(bob), [[bob.sessionId, workspace, 'of bob']]);
  assert.deepEqual(await listed(ann, { cwd: workspace }), []);
  await assert.rejects(listed(ann, { cursor: bob.sessionId }), { code: -32602 });
  await assert.rejects(ann.load('x'.repeat(1000), other), { code: -32002 });
});

test('a folder outside the workspaces is refused, and so is a program of the client', async (t) => {
  const { connect, workspace } = await startServer(t, []);
  const ann = connect('a');
  await ann.initialize();
  const { agent } = ann.connection;
  const program = { name: 'x', command: '/bin/true', args: [], env: [] };
  for (const [cwd, mcpServers, message] of [
    ['/etc', [], /cwd: must be a folder inside a workspace of this server/],
    [workspace, [program], /mcpServers\.x: this server does not start programs for clients/],
  ] as const) {
    const asked = agent.request(methods.agent.session.new, { cwd, mcpServers: [...mcpServers] });
    await assert.rejects(asked, { code: -32602, message });
  }
});

test("the SDK's WebSocket client has sessions, too", async (t) => {
  const { url, workspace } = await startServer(t, [[{ text: 'Hello.' }]]);
  const editor = new Editor(
    createWebSocketStream(url.replace('http', 'ws'), { protocols: ['acp', 'token.a'] }),
  );
  t.after(() => editor.connection.close());
  await editor.open(workspace);
  await editor.prompt('hi');
  assert.equal(editor.text, 'Hello.');
});
