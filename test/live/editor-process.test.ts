// `parley acp`: the program as an editor starts it, with the official SDK on its standard input and output.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { allowed, Editor } from '../acp/support.ts';
import { makePlace, type Place } from '../coder/support.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');

function startAcp(t: TestContext, place: Place, script: ScriptedResponse[], args: string[] = []) {
  const file = join(place.home, 'script.json');
  writeFileSync(file, JSON.stringify(script));
  const child = spawn(
    process.execPath,
    ['--conditions=parley-source', MAIN, 'acp', '--model', `scripted:${file}`, ...args],
    {
      cwd: '/',
      env: { ...process.env, PARLEY_HOME: place.home, XDG_CONFIG_HOME: join(place.home, 'config') },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    // The same bytes: Node's type of a web stream leaves open what is in it.
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const ended = once(child, 'exit').then(([code]: unknown[]) => code);
  return { child, editor: new Editor(stream), ended };
}

test('an editor works in the folder that it names, and finds its session again in another process', async (t) => {
  const place = makePlace(t);
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } };
  const first = startAcp(t, place, [[{ call }], [{ text: 'Written.' }]]);
  first.editor.answer = () => allowed;
  const { sessionId } = await first.editor.open(place.workspace);
  assert.deepEqual(await first.editor.prompt('write it'), { stopReason: 'end_turn' });
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'hello\n');
  first.child.stdin.end();
  assert.equal(await first.ended, 0);

  const second = startAcp(t, place, [[{ text: 'A file.' }]]);
  await second.editor.initialize();
  await second.editor.load(sessionId, place.workspace);
  assert.match(second.editor.text, /Written\./);
  assert.deepEqual(await second.editor.prompt('what did you write?'), { stopReason: 'end_turn' });
  assert.match(second.editor.text, /A file\./);
});

test('a session that is open can be loaded again, and goes on', async (t) => {
  const place = makePlace(t);
  const { editor, child, ended } = startAcp(t, place, [[{ text: 'One.' }], [{ text: 'Two.' }]]);
  const { sessionId } = await editor.open(place.workspace);
  await editor.prompt('one');
  await editor.load(sessionId, place.workspace);
  assert.deepEqual(await editor.prompt('two'), { stopReason: 'end_turn' });
  assert.equal(editor.text, 'One.One.Two.');
  child.stdin.end();
  assert.equal(await ended, 0);
});

test('each session/new is a session of its own', async (t) => {
  const place = makePlace(t);
  const { editor } = startAcp(t, place, [[{ text: 'One.' }]]);
  const one = await editor.open(place.workspace);
  const two = await editor.open(place.workspace);
  assert.notEqual(one.sessionId, two.sessionId);
});

test('a folder outside --workspace, and a session that is not there, are refused', async (t) => {
  const place = makePlace(t);
  const { editor } = startAcp(t, place, [], ['--workspace', place.workspace]);
  await assert.rejects(editor.open(place.home), /outside the --workspace folders/);
  await assert.rejects(editor.load('nothing', place.workspace), /not found|no such session/i);
  const everywhere = startAcp(t, place, [], ['--workspace', '/']);
  assert.ok((await everywhere.editor.open(place.workspace)).sessionId);
});
