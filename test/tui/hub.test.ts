// The terminal UI of the real program, with the real agent and session behind it; only the model is a script.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { openTerminal } from './terminal.ts';

async function open(t: TestContext, script: unknown, flags: readonly string[] = []) {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-tui-')));
  const file = path.join(folder, 'script.json');
  await writeFile(file, JSON.stringify(script));
  const workspace = path.join(folder, 'work');
  await mkdir(workspace);
  const args = [
    '--workspace',
    workspace,
    '--model',
    `scripted:${file}`,
    '--store',
    'memory',
    ...flags,
  ];
  const environment = { PARLEY_HOME: folder, HOME: folder, XDG_CONFIG_HOME: folder };
  const terminal = openTerminal('src/cli/main.ts', args, { environment, rows: 40 });
  t.after(async () => {
    terminal.close();
    await rm(folder, { recursive: true, force: true });
  });
  await terminal.sees(/◆ Parley/);
  const at = (name: string) => path.join(workspace, name);
  return { ...terminal, at, read: (name: string) => readFile(at(name), 'utf8') };
}

test('a prompt, a question, an answer, a file', async (t) => {
  const call = { name: 'write_file', args: { path: 'hello.txt', content: 'Hello!\n' } };
  const { type, sees, read, exited } = await open(t, [
    [
      { thought: { subject: 'Greeting', description: 'A file will do.' } },
      { text: 'I will write it.' },
      { call },
    ],
    [{ text: 'It is **written**.' }],
  ]);
  type('Write a greeting\r');
  await sees(/✻ Greeting/);
  await sees(/● I will write it\./);
  await sees(/❯ 1 Allow once/);
  await sees(/1 \+ Hello!/);
  type('1');
  await sees(/✓ Write hello\.txt {2}\+1/);
  await sees(/● It is written\./);
  assert.equal(await read('hello.txt'), 'Hello!\n');
  type('\u0003\u0003');
  assert.deepEqual(await exited(), { code: 0 });
});

test('Esc ends what runs, and the next turn is answered', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo begun; sleep 600' } };
  const { type, sees } = await open(t, [[{ call }], [{ text: 'Here again.' }]]);
  type('Take your time\r');
  await sees(/❯ 1 Allow once/);
  type('1');
  await sees(/│ begun/);
  type('\u001b');
  await sees(/Canceled\./);
  type('And now?\r');
  await sees(/● Here again\./);
});

test('a draft is no answer: it is queued when it is sent, and the call waits until the person moves to it', async (t) => {
  const call = { name: 'write_file', args: { path: 'hello.txt', content: 'Hello!\n' } };
  const script = [[{ call }], [{ text: 'It is written.' }], [{ text: 'Seen, too.' }]];
  const { type, sees, at, read, visible } = await open(t, script);
  // The text after Enter is typed ahead, before there is a dialog.
  type('Write a greeting\ryes');
  await sees(/Tab or ↑ ↓ to answer/);
  await sleep(700);
  type('\r');
  await sees(/○ yes/);
  type('\r');
  type('1');
  await sees(/❯ 1\n/);
  type('\u007f');
  await sees(/❯ Ask|❯ Type/);
  type('\r');
  await sleep(700);
  type('\r');
  assert.match(visible(), /Reject/);
  assert.ok(!existsSync(at('hello.txt')));
  type('\t');
  await sees(/❯ 1 Allow once/);
  type('\r');
  await sees(/● It is written\./);
  await sees(/● Seen, too\./);
  assert.equal(await read('hello.txt'), 'Hello!\n');
});

test('"Always allow" shows the first words that it would allow, and /permissions lists and removes them', async (t) => {
  const call = (words: string) => ({
    name: 'run_shell_command',
    args: { command: `npm test ${words}` },
  });
  const { type, sees, visible } = await open(t, [
    [{ call: call('--version') }],
    [{ text: 'First.' }],
    [{ call: call('-v') }],
    [{ text: 'Second.' }],
    [{ call: call('--version') }],
    [{ text: 'Third.' }],
  ]);
  type('one\r');
  await sees(/❯ 1 Allow once/);
  await sees(/3 Always allow "npm test" with any further words in this session/);
  await sees(/5 Always allow "npm test" with any further words, also in later sessions/);
  type('5');
  await sees(/● First\./);
  type('two\r');
  await sees(/● Second\./);
  type('/permissions\r');
  await sees(/Saved in your settings:[\s│]+[0-9a-f]{6} {2}npm test, with any further words/);
  const [, id = ''] = /([0-9a-f]{6}) {2}npm test, with/.exec(visible()) ?? [];
  type(`/permissions remove ${id}\r`);
  await sees(/Removed: npm test, with any further words\. The agent asks again\./);
  type('three\r');
  await sees(/❯ 1 Allow once/);
});
