/** gemini-cli's own a2a-server, with a model of the test's, and our client and `remoteAgent` in front of it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { remoteAgent } from '../../src/bridge.ts';
import { connect } from '../../src/client.ts';
import { bridge, send, statusText } from '../bridge/support.ts';
import { parley } from '../cli/support.ts';
import { tries } from '../support/interop-table.ts';
import { startGemini, type FakeGemini, type GeminiPart } from './fake-gemini.ts';
import { folderOf, programs } from './programs.ts';

const PIECES = ['Two files ', 'are here: ', 'one is long.'];
const SAYS: readonly GeminiPart[] = [
  { text: '**Looking** I look at the folder.', thought: true },
  ...PIECES.map((text) => ({ text })),
];
const IDENTITY = { NAME: 'Ann', EMAIL: 'ann@example.com' };

function note(t: TestContext, ...operations: readonly string[]): void {
  const peer = '@google/gemini-cli-a2a-server 0.25.2';
  for (const operation of operations)
    tries(t, { protocol: 'A2A', peer, role: 'server', operation });
}

/** Starts the server, whose model gives these answers, one after the other. */
async function startServer(t: TestContext, answers: (work: string) => readonly GeminiPart[][]) {
  const model = await startGemini(t);
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'parley-gemini-')));
  const work = join(home, 'work');
  mkdirSync(work);
  const main = 'node_modules/@google/gemini-cli-a2a-server/dist/a2a-server.mjs';
  // It keeps checkpoints in git, which needs an author.
  const author = Object.entries(IDENTITY).flatMap(([name, value]) =>
    ['AUTHOR', 'COMMITTER'].map((role) => [`GIT_${role}_${name}`, value]),
  );
  const child = spawn(process.execPath, [join(folderOf(programs.geminiServer), main)], {
    cwd: work,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...model.env, ...Object.fromEntries(author), HOME: home },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.once('close', () => reject(new Error(`the server ended: ${said}`)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const [, found] = /Agent Server started on (http:\S+)/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  void speak(model, answers(work));
  return { url, work };
}

async function speak(model: FakeGemini, answers: readonly GeminiPart[][]): Promise<void> {
  for (const parts of answers) (await model.next()).answer(...parts);
}

const writes = (work: string): GeminiPart[][] => {
  const args = { file_path: join(work, 'note.txt'), content: 'by hand\n' };
  return [
    [{ text: 'I write it.' }, { functionCall: { name: 'write_file', args } }],
    [{ text: 'It is ' }, { text: 'written.' }],
  ];
};

test("our client gets the text of gemini-cli's server once, by send, by stream and on the screen", async (t) => {
  note(t, 'card', 'send', 'stream', 'same text once');
  const { url } = await startServer(t, () => [[...SAYS], [...SAYS], [...SAYS]]);
  const client = await connect(url);
  t.after(() => client.close());
  assert.equal(await client.send('What is here?').text(), PIECES.join(''));
  const chunks: string[] = [];
  for await (const chunk of client.stream('What is here?').textChunks()) chunks.push(chunk);
  assert.deepEqual(chunks, PIECES);
  const { out } = await parley(['send', url, '--stream', 'What is here?']);
  assert.equal(out, `${PIECES.join('')}\n`);
});

test("parley send shows the question of gemini-cli's server with its options", async (t) => {
  const { url } = await startServer(t, writes);
  const { code, out, err } = await parley(['send', url, 'write it']);
  assert.deepEqual([code, out], [0, 'I write it.\n']);
  assert.match(err, /note\.txt[^]*\+by hand[^]*"outcome":"proceed_once"[^]*cancel: Reject/);
});

test("a question of gemini-cli's server is answered through remoteAgent", async (t) => {
  note(t, 'ask and answer', 'approve');
  const { url, work } = await startServer(t, writes);
  const client = await (await bridge(t, remoteAgent({ name: 'gemini', url }))).client();
  const asked = await send(client, 'write it');
  assert.match(statusText(asked), /note\.txt[^]*Options: Allow once, Always allow, Reject/);
  // The server gives the call up when the connection of the first request has been idle for four seconds.
  const done = await send(client, 'Allow once', { taskId: asked.id });
  assert.equal(done.status.state, 'completed');
  assert.equal(readFileSync(join(work, 'note.txt'), 'utf8'), 'by hand\n');
});
