// `parley acp` deletes a session only if no turn of it is open, in this process or in another.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { methods, ndJsonStream } from '@agentclientprotocol/sdk';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder } from '../../src/coder/coder.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { createHandler, memoryStore } from '../../src/tasks/index.ts';
import { makePlace, userMessage, type Place } from '../coder/support.ts';
import { Editor, silent } from './support.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');
const CALL = { extensions: [EXTENSION_URI] };
const NOT_ENDED = {
  message: /running, waits for an answer, or was interrupted.*parley --resume s1/,
};

/** An editor that has started `parley acp`. */
async function startAcp(t: TestContext, { home, workspace }: Place) {
  const args = ['--conditions=parley-source', MAIN, 'acp', '--model', 'offline'];
  const env = { ...process.env, PARLEY_HOME: home, XDG_CONFIG_HOME: join(home, 'config') };
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  const bytes = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  const editor = new Editor(ndJsonStream(Writable.toWeb(child.stdin), bytes));
  await editor.initialize();
  const { agent } = editor.connection;
  return {
    editor,
    load: (sessionId: string) => editor.load(sessionId, workspace),
    close: (sessionId: string) => agent.request(methods.agent.session.close, { sessionId }),
    remove: (sessionId: string) => agent.request(methods.agent.session.delete, { sessionId }),
  };
}

/** An agent with the same sessions, but tasks of its own, as in `parley serve` and `parley -p`. */
async function startElsewhere(t: TestContext, { home, workspace }: Place, model: Model) {
  const sessions = sqliteSessions(join(home, 'coder.db.sessions'));
  const coder = await createCoder({
    roots: [workspace],
    sessions,
    configFolder: join(home, 'config'),
    dataFolder: home,
    logger: silent,
    model,
  });
  const handler = createHandler(coder.agent, { store: memoryStore(), logger: silent });
  t.after(async () => {
    await handler.close(0);
    await coder.close();
    await sessions.close();
  });
  const send = (text: string) =>
    handler.sendMessage({ message: userMessage(text, { contextId: 's1' }) }, CALL);
  const stored = async () =>
    (await sessions.get({ app: 'coder', user: 'anonymous', id: 's1' })) !== undefined;
  return { handler, send, stored };
}

/** A model that answers when `go` is called. */
function slowModel() {
  const asked = Promise.withResolvers<void>();
  const { promise, resolve: go } = Promise.withResolvers<void>();
  const model: Model = {
    name: 'slow',
    async *generate() {
      asked.resolve();
      await promise;
      yield { kind: 'text', text: 'Done.' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  return { model, asked: asked.promise, go };
}

test('a session whose turn runs in another process is not deleted before the turn has ended', async (t) => {
  const place = makePlace(t);
  const { model, asked, go } = slowModel();
  const elsewhere = await startElsewhere(t, place, model);
  const acp = await startAcp(t, place);
  const turn = elsewhere.send('go');
  await asked;
  await assert.rejects(acp.remove('s1'), NOT_ENDED);
  go();
  const task = await turn;
  assert.ok(task.kind === 'task' && task.status.state === 'completed');
  await acp.remove('s1');
  assert.equal(await elsewhere.stored(), false);
});

test('a session whose turn waits in another process is not deleted before the turn is canceled', async (t) => {
  const place = makePlace(t);
  const call = { name: 'run_shell_command', args: { command: 'touch a.txt' } };
  const elsewhere = await startElsewhere(t, place, scriptedModel([[{ call }]]));
  const acp = await startAcp(t, place);
  const task = await elsewhere.send('go');
  assert.ok(task.kind === 'task' && task.status.state === 'input-required');
  await assert.rejects(acp.remove('s1'), NOT_ENDED);
  await elsewhere.handler.cancelTask({ id: task.id }, CALL);
  await acp.remove('s1');
  assert.equal(await elsewhere.stored(), false);
});

test('a session whose turn was interrupted can be deleted after the session was continued', async (t) => {
  const place = makePlace(t);
  const { model, asked } = slowModel();
  const elsewhere = await startElsewhere(t, place, model);
  elsewhere.send('go').catch(() => {});
  await asked;
  await elsewhere.handler.close(0);
  const acp = await startAcp(t, place);
  await assert.rejects(acp.remove('s1'), NOT_ENDED);
  await acp.load('s1');
  assert.deepEqual(await acp.editor.prompt('list'), { stopReason: 'end_turn' });
  await acp.close('s1');
  await acp.remove('s1');
  assert.equal(await elsewhere.stored(), false);
});

test('session/close cancels the turn, so it does not go on when the session is loaded again', async (t) => {
  const place = makePlace(t);
  const { editor, load, close, remove } = await startAcp(t, place);
  const { sessionId } = await editor.open(place.workspace);
  const turn = editor.prompt('create a.txt with hello');
  await editor.until(() => editor.asked.length === 1);
  await close(sessionId);
  assert.deepEqual(await turn, { stopReason: 'cancelled' });
  await load(sessionId);
  assert.deepEqual(await editor.prompt('list'), { stopReason: 'end_turn' });
  assert.equal(editor.asked.length, 1);
  await close(sessionId);
  await remove(sessionId);
  await assert.rejects(load(sessionId), { code: -32002 });
});
