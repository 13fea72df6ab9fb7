// What the live session is for, with the program on a pseudo-terminal and real clients: it starts with its server, an
// editor joins, prompts go both ways, and whoever answers first settles what is asked, everywhere.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { allowed, editorAt } from '../acp/support.ts';
import { makePlace } from '../coder/support.ts';
import { CTRL_C, startProgram, startShared } from './program.ts';
import { RawClient } from './raw-client.ts';

const says = (text: string): ScriptedResponse => [{ text }];
const writes = (path: string): ScriptedResponse => [
  { call: { name: 'write_file', args: { path, content: 'hello\n' } } },
];
const ESCAPE = '\u001b';

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

test('parley --a2a-port N is the terminal, which shows the port even with --public-url, and a server on that port, with the extension on its card', async (t) => {
  const port = await freePort();
  const { workspace, ...place } = makePlace(t);
  const proxy = ['--public-url', 'https://agent.example'];
  const args = ['--a2a-port', `${port}`, ...proxy, '--workspace', workspace];
  const terminal = startProgram(t, args, { place: { workspace, ...place } });
  await terminal.sees(new RegExp(`A2A :${port} · 0 clients`));
  const response = await fetch(`http://localhost:${port}/.well-known/agent-card.json`);
  const card = (await response.json()) as { capabilities: { extensions: { uri: string }[] } };
  assert.deepEqual(
    card.capabilities.extensions.map(({ uri }) => uri),
    [EXTENSION_URI],
  );
  terminal.type(CTRL_C);
  await terminal.sees(/again/i);
  terminal.type(CTRL_C);
  assert.deepEqual(await terminal.exited(), { code: 0 });
  await assert.rejects(fetch(`http://localhost:${port}/`));
});

test('an ACP client at ws://localhost:N/ws sends prompts and receives what comes of them', async (t) => {
  const { ws, terminal } = await startShared(t, { script: [says('Four.')] });
  const editor = await editorAt(t, ws.replace('127.0.0.1', 'localhost'));
  await editor.open();
  await terminal.sees(/· 1 client/);
  assert.deepEqual(await editor.prompt('what is two and two?'), { stopReason: 'end_turn' });
  assert.equal(editor.text, 'Four.');
});

test('what is typed at the terminal, and its answer, reach the ACP client', async (t) => {
  const { ws, terminal, say } = await startShared(t, { script: [says('Five, nearly.')] });
  const editor = await editorAt(t, ws);
  await editor.open();
  await terminal.sees(/· 1 client/);
  say('two and three?');
  await editor.until(() => editor.text === 'Five, nearly.');
  assert.deepEqual(editor.heard, ['[terminal] two and three?']);
  await terminal.sees(/Five, nearly\./);
});

test('a prompt of the ACP client, and its answer, are on the screen with its name', async (t) => {
  const { ws, terminal } = await startShared(t, { script: [says('Six.')] });
  const editor = await editorAt(t, ws);
  await editor.open();
  const answered = editor.prompt('three and three?');
  await terminal.sees(/\[A2A\] zed: three and three\?/);
  await terminal.sees(/Six\./);
  await answered;
});

test('a dialog of the terminal is asked of the ACP client, whose choice closes it', async (t) => {
  const script = [writes('a.txt'), says('Written.')];
  const { ws, terminal, say, workspace } = await startShared(t, { script });
  const editor = await editorAt(t, ws);
  const choice = Promise.withResolvers<typeof allowed>();
  editor.answer = () => choice.promise;
  await editor.open();
  say('write a file');
  await terminal.sees(/Esc rejects/);
  await editor.until(() => editor.asked.length === 1);
  choice.resolve(allowed);
  await terminal.until('no dialog', () => !/Esc rejects/.test(terminal.visible()));
  await terminal.sees(/Written\./);
  assert.equal(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'hello\n');
});

test('a choice at the terminal withdraws the question from everybody, and a late answer names the winner', async (t) => {
  const script = [writes('a.txt'), says('Not written, then.')];
  const { ws, terminal, say } = await startShared(t, { script });
  const editor = await editorAt(t, ws);
  await editor.open();
  const client = new RawClient(t, ws, 'a2a');
  await client.snapshot();
  say('write a file');
  await terminal.sees(/Esc rejects/);
  const { tool_call_id } = await client.pending();
  await editor.until(() => editor.asked.length === 1);
  terminal.type(ESCAPE);
  await editor.until(() => editor.withdrawn.length === 1);
  await client.frame(
    ({ params }) => params?.event?.status?.message?.parts?.[0]?.data?.status === 'CANCELLED',
  );
  const { error } = await client.ask('session/confirm', {
    tool_call_id,
    selected_option_id: 'proceed_once',
  });
  assert.equal(error.code, -32004);
  assert.match(error.message, /already resolved by terminal/i);
  assert.match(JSON.stringify(error.data), /"selectedOptionId":"cancel"/);
  await terminal.sees(/Not written, then\./);
});

test('parley attach shows the same session, and what is answered there counts here', async (t) => {
  const script = [writes('a.txt'), says('Written.')];
  const { url, terminal, say, workspace, home } = await startShared(t, { script });
  const place = { workspace, home };
  const attached = startProgram(t, ['attach', url, '--name', 'laptop'], { place });
  await terminal.sees(/· 1 client/);
  say('write a file');
  await attached.sees(/write a file/);
  await attached.sees(/Esc rejects/);
  await terminal.sees(/Esc rejects/);
  attached.type('1');
  await terminal.sees(/Written\./);
  await attached.sees(/Written\./);
  assert.doesNotMatch(terminal.visible(), /Esc rejects/);
  attached.type(`${CTRL_C}${CTRL_C}`);
  assert.deepEqual(await attached.exited(), { code: 0 });
  await terminal.sees(/· 0 clients/);
});

test('parley attach: a dialog does not get the keys of a person who types there', async (t) => {
  const script = [writes('a.txt'), says('Written.')];
  const { url, terminal, say, workspace, home } = await startShared(t, { script });
  const attached = startProgram(t, ['attach', url], { place: { workspace, home } });
  await terminal.sees(/· 1 client/);
  attached.type('I have ');
  await attached.sees(/❯ I have/);
  say('write a file');
  await attached.sees(/Tab or ↑ ↓ to answer/);
  attached.type('1');
  await attached.sees(/❯ I have 1/);
  assert.ok(!existsSync(join(workspace, 'a.txt')));
  attached.type('\t');
  await attached.sees(/❯ 1 Allow once/);
  attached.type('1');
  await terminal.sees(/Written\./);
});
