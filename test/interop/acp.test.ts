// `parley acp` as an editor starts it, and the ACP SDK's client as the editor.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, test } from 'node:test';
import { methods, ndJsonStream, type ListSessionsRequest } from '@agentclientprotocol/sdk';
import { trust } from '../../src/coder/settings/trust.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { Editor } from '../acp/support.ts';
import { tries } from '../support/interop-table.ts';

const PEER = {
  protocol: 'ACP',
  peer: '@agentclientprotocol/sdk 2.4.0',
  role: 'client',
} as const;
const MAIN = path.resolve(import.meta.dirname, '../../src/cli/main.ts');

const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-acp-')));
const [work, other] = [path.join(home, 'work'), path.join(home, 'other')];
for (const folder of [work, other]) mkdirSync(folder);

/** The environment of the registry's check: an empty home, and no keys. */
const own = Object.entries(process.env).filter(
  ([name]) => !/^(PARLEY_|NODE_TEST|.*_API_KEY$)/i.test(name),
);
const child = spawn(process.execPath, ['--conditions=parley-source', MAIN, 'acp'], {
  stdio: ['pipe', 'pipe', 'ignore'],
  cwd: other,
  env: {
    ...Object.fromEntries(own),
    PARLEY_HOME: path.join(home, 'data'),
    XDG_CONFIG_HOME: path.join(home, 'config'),
    NODE_COMPILE_CACHE: path.join(tmpdir(), 'parley-test-compile-cache'),
  },
});
const bytes = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
const editor = new Editor(ndJsonStream(Writable.toWeb(child.stdin), bytes));
const { agent } = editor.connection;
const { session } = methods.agent;
const initialized = editor.initialize();

after(() => {
  child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

async function newSession(cwd = work): Promise<string> {
  await initialized;
  editor.updates.length = 0;
  const { sessionId } = await agent.request(session.new, { cwd, mcpServers: [] });
  editor.sessionId = sessionId;
  return sessionId;
}

async function listed(query: ListSessionsRequest = {}): Promise<string[]> {
  const { sessions } = await agent.request(session.list, query);
  return sessions.map(({ sessionId, title }) => `${title} ${sessionId}`);
}

test('the answer to initialize passes the check of the ACP registry', async (t) => {
  tries(t, { ...PEER, operation: 'initialize' });
  const { authMethods = [], agentCapabilities } = await initialized;
  // The registry requires a method of the type `agent`, which is the type of a method without one, or `terminal`.
  const usable = authMethods.filter((method) => !('type' in method) || method.type === 'terminal');
  assert.ok(usable.length > 0);
  assert.deepEqual(Object.keys(agentCapabilities?.sessionCapabilities ?? {}).toSorted(), [
    'close',
    'delete',
    'list',
    'resume',
  ]);
  const { image } = agentCapabilities?.promptCapabilities ?? {};
  assert.equal(image, false, 'the offline model sees no images');
  const authenticate = (methodId: string) =>
    agent.request(methods.agent.authenticate, { methodId });
  await authenticate(usable[0]?.id ?? '');
  await assert.rejects(authenticate('nonsense'), { code: -32602 });
});

test('a session whose model has no key needs authentication, and the error says which key', async () => {
  await initialized;
  const settings = path.join(other, '.parley');
  mkdirSync(settings);
  writeFileSync(
    path.join(settings, 'settings.json'),
    JSON.stringify({ model: 'google:gemini-3.8-flash' }),
  );
  await trust(path.join(home, 'config', 'parley'), other);
  await assert.rejects(newSession(other), { code: -32000, message: /needs GEMINI_API_KEY/ });
});

test('a session without a prompt can be loaded, also after it was closed', async (t) => {
  tries(t, { ...PEER, operation: 'prompt' });
  const sessionId = await newSession();
  await editor.load(sessionId, work);
  await agent.request(session.close, { sessionId });
  const { configOptions } = await editor.load(sessionId, work);
  assert.equal(configOptions?.length, 2);
  assert.deepEqual(await editor.prompt('list'), { stopReason: 'end_turn' });
  await assert.rejects(editor.load(sessionId, other), {
    code: -32602,
    message: new RegExp(`belongs to the folder ${work}; send this folder as cwd`),
  });
});

test('sessions are listed, loaded with their history, and deleted', async (t) => {
  tries(t, { ...PEER, operation: 'sessions' });
  const sessionId = await newSession();
  const entry = `create a.txt with hello ${sessionId}`;
  assert.ok(!(await listed()).some((each) => each.includes(sessionId)), 'it has no prompt yet');
  const turn = editor.prompt('create a.txt with hello');
  await editor.until(() => editor.asked.length === 1);
  const remove = (id: string) => agent.request(session.delete, { sessionId: id });
  await assert.rejects(remove(sessionId), { message: /a turn of this session is running/ });
  await editor.cancel();
  assert.equal((await turn).stopReason, 'cancelled');
  assert.ok((await listed({ cwd: work })).includes(entry));
  assert.ok(!(await listed({ cwd: other })).includes(entry));
  await agent.request(session.close, { sessionId });
  editor.updates.length = 0;
  await editor.load(sessionId, work);
  assert.deepEqual(editor.heard, ['create a.txt with hello']);

  await agent.request(session.close, { sessionId });
  // Another process has the session open.
  const elsewhere = sqliteStore(path.join(home, 'data', 'live', `${sessionId}.db`));
  const isOpen = { message: /open, here or in another client: close it first/ };
  await assert.rejects(remove(sessionId), isOpen);
  await assert.rejects(editor.load(sessionId, work), isOpen);
  elsewhere.close();

  await remove(sessionId);
  await remove(sessionId);
  await remove('never-existed');
  assert.ok(!(await listed()).includes(entry));
  await assert.rejects(editor.load(sessionId, work), { code: -32002 });
});

test('a session that the client has open is closed and deleted', async () => {
  const sessionId = await newSession();
  await agent.request(session.delete, { sessionId });
  await assert.rejects(editor.prompt('list'), { code: -32002 });
  await assert.rejects(editor.load(sessionId, work), { code: -32002 });
});

test('the model is chosen in the editor', async (t) => {
  tries(t, { ...PEER, operation: 'model' });
  const sessionId = await newSession();
  const set = (value: string) =>
    agent.request(session.setConfigOption, { sessionId, configId: 'model', value });
  const { configOptions } = await set('offline');
  assert.deepEqual(
    configOptions.map(({ currentValue }) => currentValue),
    ['ask', 'offline'],
  );
  await assert.rejects(set('google:gemini-3.8-flash'), { message: /needs GEMINI_API_KEY/ });
});
