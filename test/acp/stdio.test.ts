// ACP over a child process's standard input and output, as an editor starts it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace } from '../coder/support.ts';
import { allowed, Editor } from './support.ts';

const AGENT = fileURLToPath(new URL('stdio-agent.ts', import.meta.url));

function start(t: TestContext, script: readonly ScriptedResponse[]) {
  const place = makePlace(t);
  const file = join(place.home, 'script.json');
  writeFileSync(file, JSON.stringify(script));
  const flags = ['--conditions=parley-source', AGENT, place.home, file];
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const bytes = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  const editor = new Editor(ndJsonStream(Writable.toWeb(child.stdin), bytes));
  return { ...place, child, editor };
}

test('each session/new is a session of its own, in its folder', async (t) => {
  const call = { name: 'write_file', args: { path: 'here.txt', content: 'x' } };
  const { editor, workspace } = start(t, [[{ call }], [{ text: 'One.' }], [{ text: 'Two.' }]]);
  const [left, right] = [join(workspace, 'left'), join(workspace, 'right')];
  for (const folder of [left, right]) mkdirSync(folder);
  editor.answer = () => allowed;
  const first = await editor.open(left);
  assert.deepEqual(await editor.prompt('write'), { stopReason: 'end_turn' });
  const second = await editor.open(right);
  assert.notEqual(second.sessionId, first.sessionId);
  assert.deepEqual(await editor.prompt('say'), { stopReason: 'end_turn' });
  assert.ok(existsSync(join(left, 'here.txt')));
  assert.ok(!existsSync(join(right, 'here.txt')));
  editor.updates.length = 0;
  await editor.load(first.sessionId, left);
  assert.deepEqual(editor.heard, ['write']);
  assert.equal(editor.text, 'One.');
  await assert.rejects(editor.load('nowhere'), { code: -32002 });
});

test('the agent ends when the editor closes its input', async (t) => {
  const { editor, child, workspace } = start(t, []);
  await editor.open(workspace);
  const exit = once(child, 'exit');
  editor.connection.close();
  child.stdin.end();
  assert.deepEqual(await exit, [0, null]);
});

test('a line that is too long ends the connection, with a word in the log', async (t) => {
  const { child } = start(t, []);
  child.stdin.on('error', () => {});
  const exit = once(child, 'exit');
  const log = text(child.stderr);
  child.stdin.write(`"${'x'.repeat(11 * 1024 * 1024)}"\n`);
  assert.deepEqual(await exit, [0, null]);
  assert.match(await log, /closed an ACP connection: message too large/);
});
