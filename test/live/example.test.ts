// The example client, in a session on a pseudo-terminal; and the page about `/ws`, which is to be complete.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { LIVE_METHODS } from '../../src/live/ws/methods.ts';
import { CLOSE } from '../../src/http/socket-route.ts';
import { startShared } from './program.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('the example client joins, prompts, allows, and leaves when its turn is over', async (t) => {
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'hello\n' } };
  const script = [[{ call }], [{ text: 'It is there.' }]];
  const { ws, terminal, workspace } = await startShared(t, { script });
  const client = path.join(root, 'examples/live-client/client.js');
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    client,
    ws,
    'write a.txt',
    '--allow',
  ]);
  assert.equal(stderr, '');
  assert.deepEqual(
    // Whether the turn comes to rest before it is allowed is a matter of milliseconds.
    stdout.split('\n').filter((line) => !/^$|EXECUTING|input-required/.test(line)),
    [
      `In ${workspace}, with terminal, a2a.`,
      'a2a> write a.txt',
      '? PENDING Write a.txt',
      '· SUCCEEDED Write a.txt',
      'It is there.',
      '· completed',
      'closed: 1000 ',
    ],
  );
  assert.equal(readFileSync(path.join(workspace, 'a.txt'), 'utf8'), 'hello\n');
  await terminal.sees(/It is there\./);
});

test('the page about the live session names every method and every closing code, in JSON that is JSON', () => {
  const page = readFileSync(path.join(root, 'docs/live-session.md'), 'utf8');
  for (const method of Object.keys(LIVE_METHODS)) assert.ok(page.includes(`\`${method}\``), method);
  for (const code of Object.values(CLOSE)) assert.ok(page.includes(`| ${code} |`), `${code}`);
  const frames = [...page.matchAll(/```json\n(.*?)```/gs)].flatMap(([, text = '']) =>
    text.trim().split(/\n(?=\{)/),
  );
  assert.ok(frames.length > 4);
  for (const frame of frames) JSON.parse(frame);
});
