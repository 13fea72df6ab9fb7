// The whole terminal UI on a real pseudo-terminal, seen through a terminal emulator. The session is played (demo.ts).
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openTerminal, type TerminalOptions } from './terminal.ts';

const ENTER = '\r';
const ESCAPE = '\u001b';
const DOWN = '\u001b[B';
const CTRL_C = '\u0003';
const SEQUENCE = '\u001b[';

async function open(t: TestContext, args: readonly string[] = [], options: TerminalOptions = {}) {
  const terminal = openTerminal('test/tui/run.ts', args, options);
  t.after(() => terminal.close());
  if (!args.includes('--plain')) await terminal.sees(/ scrip|^ ask /m);
  return terminal;
}

test('what is typed is seen, sent, and answered', async (t) => {
  const { type, sees, until, cursor } = await open(t);
  type('hello');
  await sees(/❯ hello/);
  await until('the cursor behind it', () => cursor().x === 7);
  type(ENTER);
  await sees(/● You said: hello/);
  await sees(/❯ Ask for something/);
});

test('a dialog is answered by keys, and its call is done', async (t) => {
  const { type, sees, visible } = await open(t, [], { rows: 50 });
  type(`edit${ENTER}`);
  await sees(/❯ 1 Allow once/);
  assert.match(visible(), /6 \+ {3}await once\(server\.listen/);
  type(DOWN);
  await sees(/❯ 2 Always allow/);
  type(ENTER);
  await sees(/✓ Edit src\/server\.ts {2}\+3 −2/);
  await sees(/↳ Always allow/);
  assert.doesNotMatch(visible(), /4 Reject/);
});

test('an edit can be changed in the editor', async (t) => {
  const { type, sees } = await open(t, [], { rows: 50 });
  type(`edit${ENTER}`);
  await sees(/3 Allow with other content/);
  type('3');
  await sees(/✓ Edit/);
  await sees(/host = '::1'/);
  type('still here');
  await sees(/❯ still here/);
});

test('an answer is streamed, printed once, and left in the scrollback', async (t) => {
  const { type, sees, all } = await open(t, ['--pause', '1'], { rows: 14 });
  type(`stream${ENTER}`);
  await sees(/--port {2}41242/);
  await sees(/❯ Ask/);
  for (const once of [/The server listened/g, /const server = createServer/g, /flag {4}default/g]) {
    assert.equal(all().match(once)?.length, 1, `${once} in\n${all()}`);
  }
  assert.equal(all().match(/❯ Ask for/g)?.length, 1, 'no old frame is left behind');
});

test('what a command prints is seen while it runs', async (t) => {
  const { type, sees, visible } = await open(t, ['--pause', '20']);
  type(`shell npm test${ENTER}`);
  await sees(/ok 2 - a test/);
  await sees(/Working/);
  await sees(/✓ Run npm test/);
  await sees(/all 12 tests pass/);
  assert.doesNotMatch(visible(), /ok 2/);
});

test('commands, files and earlier prompts are at hand', async (t) => {
  const { type, sees } = await open(t);
  type('/mem');
  await sees(/❯ memory/);
  type('\t');
  await sees(/❯ \/memory/);
  type(CTRL_C);
  type('look at @src/se');
  await sees(/❯ src\/server\.ts/);
  type('\t');
  await sees(/❯ look at @src\/server\.ts/);
  type(CTRL_C);
  type('\u0012earl');
  await sees(/❯ an earlier prompt/);
});

test('a paste keeps its lines and is not sent', async (t) => {
  const { type, sees, visible } = await open(t);
  type('\u001b[200~one\rtwo\rthree\u001b[201~');
  await sees(/❯ one\n {2}two\n {2}three/);
  assert.doesNotMatch(visible(), /You said/);
  type(ENTER);
  await sees(/● You said: one\n {2}two\n {2}three/);
});

test('a line goes on after a backslash or Alt-Enter', async (t) => {
  const { type, sees } = await open(t);
  type('a\\');
  type(ENTER);
  type('b');
  type(`${ESCAPE}\r`);
  type('c');
  await sees(/❯ a\n {2}b\n {2}c/);
});

test('Esc cancels the turn, and twice offers the way back', async (t) => {
  const { type, sees } = await open(t);
  type(`begin${ENTER}`);
  await sees(/Working/);
  type(ESCAPE);
  await sees(/Canceled\./);
  await sees(/Esc again/);
  type(ESCAPE);
  await sees(/❯ 1 Edit the last prompt/);
  type(ENTER);
  await sees(/❯ begin\n─/);
});

test('others are seen by name', async (t) => {
  const { type, sees } = await open(t, ['--a2a-port', '1234']);
  await sees(/A2A :1234 · 0 clients/);
  type(`phone hello from far${ENTER}`);
  await sees(/❯ \[A2A\] phone: hello from far/);
  await sees(/A2A :1234 · 1 client/);
});

test('Ctrl-C twice leaves, and leaves the terminal as it was', async (t) => {
  const { type, sees, exited, raw } = await open(t);
  type(CTRL_C);
  await sees(/Ctrl-C again to leave/);
  type(CTRL_C);
  assert.deepEqual(await exited(), { code: 0 });
  await sees(/left: left/);
  const last = (sequence: string) => raw().lastIndexOf(sequence);
  assert.ok(last('\u001b[?25h') > last('\u001b[?25l'), 'the cursor is shown');
  assert.ok(last('\u001b[?2004l') > last('\u001b[?2004h'), 'paste is as before');
});

test('thirty columns are enough', async (t) => {
  const options = { columns: 30, rows: 24 };
  const { type, sees, visible } = await open(t, ['--a2a-port', '1234'], options);
  type(`edit${ENTER}`);
  // A part of the change is hidden, so nothing that allows it is preselected.
  await sees(/❯ 4 Reject/);
  await sees(/1 Allow once/);
  const rows = visible().split('\n');
  assert.ok(rows.every((row) => !row.startsWith('╭') || row.endsWith('╮')));
  type('1');
  await sees(/A2A :1234 · 0 clients/);
});

test('a terminal that becomes narrower is drawn anew', async (t) => {
  const { type, sees, resize, visible } = await open(t);
  type('text');
  await sees(/❯ text/);
  resize(50, 20);
  await sees(/^─{50}$/m);
  assert.match(visible(), /❯ text/);
});

test('with NO_COLOR, or the theme none, there is no colour at all', async (t) => {
  const cases = [{ environment: { NO_COLOR: '1' } }, { args: ['--theme', 'none'] }];
  for (const { args = [], environment = {} } of cases) {
    const { type, sees, raw } = await open(t, args, { environment });
    type(`edit${ENTER}`);
    await sees(/4 Reject/);
    const [, ...sequences] = raw().split(SEQUENCE);
    assert.ok(sequences.every((rest) => !/^[\d;]*m/.test(rest)));
  }
});

test('a session of 5,000 messages echoes a key within 50 ms', async (t) => {
  const { type, sees, until, visible } = await open(t, ['--history', '5000']);
  await sees(/Answer 4999/);
  const times: number[] = [];
  for (let typed = 'a'; typed.length <= 11; typed += 'a') {
    const start = performance.now();
    type('a');
    await until(typed, () => visible().includes(`❯ ${typed}\n`));
    times.push(performance.now() - start);
  }
  // The machine may be busy with other tests: what it can do shows in the better ones.
  const good = times.toSorted((a, b) => a - b)[2] ?? Infinity;
  assert.ok(good < 50, `the third of ${times.map((time) => time.toFixed(1)).join(', ')} ms`);
});

test('a session of 2,000 turns draws its screen again, and goes on, without delay', async (t) => {
  const { type, sees, until, raw, visible } = await open(t, ['--history', '4000']);
  await sees(/Answer 3999/);
  const before = raw().length;
  const start = performance.now();
  type('\u000c');
  await until('the screen again', () => raw().slice(before).includes('Answer 3999'));
  const took = performance.now() - start;
  // Only what fits on the screen is printed again.
  assert.ok(raw().length - before < 20_000, `${raw().length - before} characters`);
  assert.doesNotMatch(raw().slice(before), /Answer 3901/);
  assert.ok(took < 1000, `${took} ms`);
  type(`hello${ENTER}`);
  await sees(/● You said: hello/);
  assert.match(visible(), /Answer 3999/);
});

test('5,000 messages that come one by one leave it as fast', async (t) => {
  const { type, sees, until, visible } = await open(t);
  type(`long 5000${ENTER}`);
  await sees(/Paragraph 4999/);
  await sees(/❯ Ask/);
  const times: number[] = [];
  for (let typed = 'x'; typed.length <= 5; typed += 'x') {
    const start = performance.now();
    type('x');
    await until(typed, () => visible().includes(`❯ ${typed}\n`));
    times.push(performance.now() - start);
  }
  assert.ok(Math.min(...times) < 50, times.join(', '));
});

test('line by line, nothing is drawn twice and numbers answer', async (t) => {
  const { type, until, all, raw, exited } = await open(t, ['--plain']);
  const reads = (pattern: RegExp) => until(String(pattern), () => pattern.test(all()));
  await reads(/Parley in \/project, model scripted, mode ask\./);
  type(`edit${ENTER}`);
  await reads(/Question: Edit src\/server\.ts\?/);
  await reads(/4: Reject/);
  type(`1${ENTER}`);
  await reads(/Tool, done: Edit src\/server\.ts {2}\+3 −2/);
  await reads(/Agent: The server listened/);
  await reads(/Ready\./);
  assert.ok(!raw().includes(SEQUENCE));
  assert.doesNotMatch(raw(), /[╭│❯●]/);
  type(`/quit${ENTER}`);
  await exited();
});

test('line by line, a question of the agent ends with one question mark', async (t) => {
  const { type, until, all } = await open(t, ['--plain']);
  const reads = (pattern: RegExp) => until(String(pattern), () => pattern.test(all()));
  await reads(/Parley in/);
  type(`request question${ENTER}`);
  await reads(/Question: (?:Ask: )?Which address [^]*Type the number of an option/);
  assert.doesNotMatch(all(), /\?\?/);
});

test('line by line, Ctrl-C cancels the turn, and twice it leaves', async (t) => {
  const { type, until, all, exited } = await open(t, ['--plain']);
  const reads = (pattern: RegExp) => until(String(pattern), () => pattern.test(all()));
  await reads(/Parley in/);
  type(`begin${ENTER}`);
  await reads(/Thought: Looking for the tests/);
  type(CTRL_C);
  await reads(/Canceled\./);
  type(CTRL_C);
  assert.deepEqual(await exited(), { code: 0 });
});
