// What a dialog shows, and which keys answer it, on a real pseudo-terminal. The session is played (demo.ts).
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { openTerminal, type Terminal } from './terminal.ts';

const ENTER = '\r';
const ESCAPE = '\u001b';
const UP = '\u001b[A';
const END = '\u001b[F';
const CTRL_O = '\u000f';
const SIZES = [
  [60, 20],
  [46, 16],
  [40, 12],
] as const;
/** Longer than a person pauses while typing. */
const PAUSE_MS = 700;

async function open(t: TestContext, columns = 100, rows = 30): Promise<Terminal> {
  const terminal = openTerminal('test/tui/run.ts', [], { columns, rows });
  t.after(() => terminal.close());
  await terminal.sees(/❯ Ask/);
  return terminal;
}

/** Types a text, lets the request come, and waits until it is on the screen. */
async function draftThenRequest(t: TestContext, draft: string, request = 'edit') {
  const terminal = await open(t);
  const { type, sees, signal } = terminal;
  type(`later ${request}${ENTER}`);
  await sees(/Working/);
  type(draft);
  if (draft !== '') await sees(new RegExp(`❯ ${draft.trim()}`));
  signal('SIGUSR2');
  return terminal;
}

for (const [columns, rows] of SIZES) {
  test(`${columns}×${rows}: changed lines, both ends of a command and Reject are visible, and Enter rejects what is not seen whole`, async (t) => {
    const { type, sees, visible } = await open(t, columns, rows);
    type(`request long-edit${ENTER}`);
    await sees(/❯ 4 Reject/);
    const screen = visible();
    assert.match(screen, /\d+ - +before\(10\)/);
    assert.match(screen, /\d+ \+ +after\(49\)/);
    assert.match(screen, /… \d+ lines hidden/);
    assert.match(screen, /╭─ Edit src\/server\.ts/);
    assert.doesNotMatch(screen, /❯ 1 Allow/);
    type(ENTER);
    await sees(/⊘ Edit/);
    type(`request command${ENTER}`);
    await sees(/❯ 3 Reject/);
    assert.match(visible(), /\$ echo "all is well/);
    assert.match(visible().replaceAll(/[│\s]/g, ''), /x\|sh/);
    assert.match(visible(), /lines hidden/);
  });
}

test('a request that is seen whole has Allow once preselected, and a smaller terminal takes that back', async (t) => {
  const { type, sees, resize } = await open(t);
  type(`request edit${ENTER}`);
  await sees(/❯ 1 Allow once/);
  resize(46, 16);
  await sees(/❯ 4 Reject/);
});

test('a carriage return, an escape sequence and invisible characters hide nothing', async (t) => {
  const { type, sees, visible } = await open(t);
  type(`request escapes${ENTER}`);
  await sees(/❯ 1 Allow once/);
  assert.ok(visible().includes('$ rm -rf ~␛[2K␍ls <U+202E>fdp.exe<U+200B>'), visible());
});

test('an MCP call shows all its arguments, and in a small terminal a pane shows them all', async (t) => {
  const large = await open(t, 100, 40);
  large.type(`request mcp${ENTER}`);
  await large.sees(/❯ 1 Allow once/);
  for (const shown of [
    /create_issue of github/,
    /title: "The server listens on every address"/,
    /│ 2\. ask from another machine/,
    /"security"/,
    /"notify":true/,
    /the-last-argument-of-the-call/,
  ]) {
    assert.match(large.visible(), shown);
  }
  const small = await open(t, 46, 16);
  small.type(`request mcp${ENTER}`);
  await small.sees(/❯ 5 Reject/);
  await small.sees(/title: "The server/);
  await small.sees(/the-last-argument-of-the/);
  small.type(CTRL_O);
  await small.sees(/1–\d+ of \d+/);
  small.type(END);
  await small.until('the pane alone', () => !small.visible().includes('Reject'));
  await small.sees(/the-last-argument-of-the/);
  small.type('1');
  await small.sees(/❯ 5 Reject/);
});

test('with many options the way not to answer stays visible', async (t) => {
  const { type, sees, visible } = await open(t, 46, 16);
  type(`request choices${ENTER}`);
  await sees(/Do not answer/);
  assert.match(visible().replaceAll(/[│\s]+/g, ' '), /listen on if no host is given\?/);
  assert.match(visible(), /❯ 1 Address number 0/);
});

test('no key answers a dialog that opens while the person types, before they move to it', async (t) => {
  const { type, sees, visible } = await draftThenRequest(t, 'I have ');
  await sees(/Tab or ↑ ↓ to answer/);
  await sleep(PAUSE_MS);
  type('1');
  await sees(/❯ I have 1/);
  type(ESCAPE);
  await sees(/Tab moves to it\. Your text is kept/);
  // Deleting the draft changes nothing.
  type('\u0015');
  await sees(/❯ (?!I have)/);
  type(ENTER);
  type('2');
  await sees(/❯ 2/);
  assert.match(visible(), /4 Reject/);
  type('\t');
  await sees(/❯ 1 Allow once/);
  type('1');
  await sees(/✓ Edit/);
});

test('a paste never answers, and an arrow key moves to the dialog', async (t) => {
  const { type, sees } = await draftThenRequest(t, '');
  await sees(/❯ 1 Allow once/);
  type('\u001b[200~1\r\u001b[201~');
  await sees(/Tab or ↑ ↓ to answer/);
  await sees(/❯ 1$/m);
  // The first press moves to the first line of the draft.
  type(UP);
  type(UP);
  await sees(/❯ 1 Allow once/);
  type(ESCAPE);
  await sees(/⊘ Edit/);
  await sees(/❯ 1$/m);
});

test('typing while a dialog waits is a draft, also after a pause', async (t) => {
  const { type, sees, visible } = await draftThenRequest(t, '');
  await sees(/❯ 1 Allow once/);
  type('wait, ');
  await sees(/❯ wait,/);
  await sleep(PAUSE_MS);
  type('1');
  await sees(/❯ wait, 1/);
  assert.match(visible(), /4 Reject/);
});

test('keys that arrive together do not answer: a terminal that does not mark pastes sends them', async (t) => {
  const { type, sees, visible } = await draftThenRequest(t, 'I have ');
  await sees(/Tab or ↑ ↓ to answer/);
  // A line that contains only a tab, and then a line break.
  type(`\t${ENTER}`);
  await sees(/You said: I have/);
  type(`request edit${ENTER}`);
  await sees(/❯ 1 Allow once/);
  type(`1${ENTER}\t${ENTER}`);
  await sees(/You said: 1/);
  assert.doesNotMatch(visible(), /✓ Edit/);
});

test('an arrow key and Enter that arrive together do not answer', async (t) => {
  const { type, sees, visible } = await draftThenRequest(t, 'I have ');
  await sees(/Tab or ↑ ↓ to answer/);
  type('\u0015');
  await sees(/❯ (?!I have)/);
  // Ink reports the arrow key and Enter in two input events.
  type(`${UP}${ENTER}`);
  await sleep(PAUSE_MS);
  assert.match(visible(), /Tab or ↑ ↓ to answer/);
  type('\t');
  await sees(/❯ 1 Allow once/);
});

test('a number that arrives together with a paste does not answer', async (t) => {
  const { type, sees, visible } = await draftThenRequest(t, 'I have ');
  await sees(/Tab or ↑ ↓ to answer/);
  type('\t');
  await sees(/❯ 1 Allow once/);
  type('1\u001b[200~ of the pasted words\u001b[201~');
  await sees(/1 of the pasted words/);
  assert.doesNotMatch(visible(), /✓ Edit/);
});

test('--plain: a number that was begun before a question was printed does not answer it', async (t) => {
  const terminal = openTerminal('test/tui/run.ts', ['--plain', '--play', 'later thought'], {
    columns: 80,
    rows: 60,
  });
  t.after(() => terminal.close());
  const { type, sees, visible, signal } = terminal;
  await sees(/Type a request/);
  type(`change it${ENTER}`);
  await sees(/Looking/);
  type('1');
  await sees(/^1$/m);
  signal('SIGUSR2');
  await sees(/Question: Edit/);
  await sees(/The number was discarded/);
  type(ENTER);
  type(`/reject not now${ENTER}`);
  await sees(/Tool, \w+: Edit/);
  assert.doesNotMatch(visible(), /Tool, (?:done|succeeded)/);
  assert.match(visible(), /not now/);
});
