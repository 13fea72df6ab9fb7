import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { editCall, shellCall } from '../../../test/tui/demo.ts';
import { PHONE, ScriptedSession, TERMINAL } from '../../../test/tui/scripted-session.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { withText } from '../input/buffer.ts';
import { createComposer } from '../input/composer.ts';
import type { Picker } from '../input/picker.ts';
import { reduceState } from '../../display/state/index.ts';
import { INITIAL, line, textOfLine } from '../../display/index.ts';
import { lineWidth } from '../text/styled-line.ts';
import { NO_DIALOG, type DialogFocus, type Ui } from './ui.ts';
import { frame } from './frame.ts';
import { menuLines } from './menu-lines.ts';
import * as renderers from './renderers.ts';
import { statusLine } from './status-lines.ts';

type Step = (session: ScriptedSession) => void;

const steps: Readonly<Record<string, Step>> = {
  prompt: (session) => session.heard('do something that takes a while to say', PHONE),
  text: (session) => session.say('A long answer that goes on and on. '.repeat(20)),
  code: (session) => session.say(`\`\`\`ts\n${'const a = 1;\n'.repeat(60)}`),
  call: (session) =>
    session.call({ ...shellCall('c', 'x'), status: 'EXECUTING', live_content: 'y\n'.repeat(30) }),
  ask: (session) => void session.ask(editCall('e')),
  askAgain: (session) => void session.ask(editCall('f')),
};

function uiAfter(names: readonly string[], changes: Partial<Ui>): Ui {
  const session = new ScriptedSession();
  for (const name of names) steps[name]?.(session);
  const state = reduceState(INITIAL, session.snapshot());
  return {
    state: { ...state, queued: [{ text: 'next', from: 'phone' }] },
    composer: createComposer(),
    dialog: { ...NO_DIALOG, focus: 'options' },
    answering: new Set(),
    pane: undefined,
    rewind: undefined,
    picker: undefined,
    command: undefined,
    mode: undefined,
    drawing: 0,
    hint: undefined,
    busySince: undefined,
    ...changes,
  };
}

const PICKER: Picker = {
  title: 'Restore a checkpoint',
  items: Array.from({ length: 20 }, (_, n) => ({
    id: `${n}`,
    title: `before ${n}`,
    when: '09:30',
  })),
  query: '',
  selected: 7,
  preview: { id: '7', lines: Array.from({ length: 40 }, (_, n) => line(`+ line ${n}`, 'added')) },
};

const changes = fc.constantFrom<Partial<Ui>>(
  {},
  { busySince: 1 },
  { rewind: { selected: 1 } },
  { picker: PICKER },
  { command: { command: 'npm test', output: 'ok\n'.repeat(20), since: 0 } },
  { pane: { kind: 'thoughts', scroll: 0 } },
  { pane: { kind: 'call', scroll: 50 } },
  { pane: { kind: 'request', scroll: 3 } },
  { composer: { ...createComposer(), buffer: withText('line\n'.repeat(30)) } },
  { composer: { ...createComposer(), buffer: withText('word '.repeat(100)) } },
);

test('the frame is never taller or wider than the terminal, and the cursor is in it', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(...Object.keys(steps)), { maxLength: 6 }),
      changes,
      fc.integer({ min: 30, max: 120 }),
      fc.integer({ min: 12, max: 50 }),
      (names, change, width, height) => {
        const { lines, cursor } = frame({
          ui: uiAfter(names, change),
          self: TERMINAL,
          width,
          height,
          spinner: '⠋',
          now: 5000,
          renderers,
          a2aPort: 1234,
        });
        assert.ok(lines.length < height, `${lines.length} lines of ${height}`);
        for (const line of lines) assert.ok(lineWidth(line) <= width, textOfLine(line));
        if (cursor) assert.ok(cursor.y < lines.length && cursor.x < width);
      },
    ),
    { numRuns: 300 },
  );
});

test('with little room every option gets one row, and the selected one is visible', () => {
  const texts = (selected: number, maxRows: number) =>
    menuLines(
      ['one', 'two that is too long for a line', 'three', 'four'].map((name) => ({ name })),
      selected,
      20,
      { maxRows },
    ).map(textOfLine);
  assert.deepEqual(texts(0, 4), ['❯ 1 one', '  2 two that…a line', '  3 three', '  4 four']);
  assert.deepEqual(texts(3, 2), ['  3 three', '❯ 4 four']);
  assert.equal(texts(0, 9).length, 5);
});

test('with little room the selected option is shown in full', () => {
  const prefix = 'Always allow "npm run lint" with any further words';
  const names = ['Allow once', `${prefix} in this session`, `${prefix}, also later`, 'Reject'];
  for (const selected of [1, 2]) {
    const shown = menuLines(
      names.map((name) => ({ name })),
      selected,
      42,
      { maxRows: 4, pinned: 3 },
    ).map(textOfLine);
    assert.equal(shown.length, 4);
    assert.match(
      shown.join('').replaceAll(/ +/g, ' '),
      /❯ \d Always allow "npm run lint" with any/,
    );
    assert.equal(shown.at(-1), '  4 Reject');
  }
});

test('options that differ at their ends stay distinguishable in a narrow terminal', () => {
  const name = 'a-file-with-a-name-that-is-too-long.txt';
  const choices = [
    `Always allow ${name} in this session`,
    `Always allow ${name}, also in later sessions`,
  ];
  const shown = menuLines(
    choices.map((each) => ({ name: each })),
    0,
    36,
    { maxRows: 2 },
  ).map(textOfLine);
  assert.match(shown[0] ?? '', /Always allow.*in this session$/);
  assert.match(shown[1] ?? '', /Always allow.*later sessions$/);
  for (const each of shown) assert.ok(each.length <= 36);
});

test('only one effect of Esc is shown: while a dialog is open, the effect there', () => {
  const texts = (names: string[]) => {
    const { lines } = frame({
      ui: { ...uiAfter(names, {}), busySince: 0 },
      self: TERMINAL,
      width: 80,
      height: 40,
      spinner: '⠋',
      now: 5000,
      renderers,
    });
    return lines.map(textOfLine).join('\n');
  };
  assert.match(texts([]), /Esc cancels/);
  const asked = texts(['ask']);
  assert.match(asked, /Esc rejects/);
  assert.doesNotMatch(asked, /Esc cancels/);
});

test('in a low terminal a dialog leaves the newest queued prompt visible', () => {
  const ui = uiAfter(['ask'], { busySince: 0 });
  const queued = ['first', 'second'].map((text) => ({ text, from: 'phone' }));
  const options = { self: TERMINAL, width: 60, height: 16, spinner: '⠋', now: 0, renderers };
  const { lines } = frame({ ui: { ...ui, state: { ...ui.state, queued } }, ...options });
  const text = lines.map(textOfLine).join('\n');
  assert.match(text, /○ phone: second/);
  assert.match(text, /4 Reject/);
  assert.doesNotMatch(text, /Working/);
});

test('a terminal that is too low for a dialog says so, and nothing can be chosen in it', () => {
  for (const height of [5, 7, 9]) {
    const options = { self: TERMINAL, width: 40, height, spinner: '⠋', now: 0, renderers };
    const drawn = frame({ ui: uiAfter(['ask'], {}), ...options });
    const text = drawn.lines.map(textOfLine).join(' ');
    if (height > 6) assert.match(text, /A question is waiting\. Make the terminal/);
    assert.ok(drawn.lines.length < height + 1);
    assert.equal(drawn.dialog, undefined);
  }
});

test('a very long argument is drawn with both its ends and what is left out, and nothing allows it at once', () => {
  const session = new ScriptedSession();
  const options = ['proceed_once', 'cancel'].map((id) => ({ id, name: id }));
  session.call({
    tool_call_id: 'm',
    tool_name: 'a__b',
    status: 'PENDING',
    input_parameters: { text: `begin\n${'漢字 and more\n'.repeat(100_000)}end` },
    confirmation_request: { options, mcp_details: { server_name: 'a', tool_name: 'b' } },
  });
  const state = reduceState(INITIAL, session.snapshot());
  const size = { width: 60, height: 30, spinner: '', now: 0 };
  const whole = { ...uiAfter([], {}), state };
  const { lines, dialog } = frame({ ui: whole, self: TERMINAL, renderers, ...size });
  const text = lines.map(textOfLine).join('\n');
  assert.match(text, /│ begin/);
  assert.match(text, /│ end/);
  assert.match(text, /lines hidden/);
  assert.equal(dialog?.selected, 1);
});

test('nothing allows a change of several files at once if the server left out a part of it', () => {
  const options = ['proceed_once', 'cancel'].map((id) => ({ id, name: id }));
  const selectedFor = (description: string): number | undefined => {
    const session = new ScriptedSession();
    session.call({
      tool_call_id: 'p',
      tool_name: 'apply_patch',
      status: 'PENDING',
      input_parameters: { patch: '' },
      confirmation_request: { options, generic_details: { description } },
    });
    const state = reduceState(INITIAL, session.snapshot());
    const size = { width: 60, height: 30, spinner: '', now: 0 };
    const ui = { ...uiAfter([], {}), state };
    return frame({ ui, self: TERMINAL, renderers, ...size }).dialog?.selected;
  };
  const small = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n';
  assert.equal(selectedFor(small), 0);
  const note = '[too many differences to show: 9000 lines become 9000]';
  assert.equal(selectedFor(`${small}\n--- a/y\n+++ b/y\n${note}\n`), 1);
  assert.equal(selectedFor(`--- a/y\n+++ b/y\n[truncated: 4.0 KB more]\n\n${small}`), 1);
});

test('a question shows its own key hints', () => {
  const options = ['red', 'cancel'].map((id) => ({ id, name: id }));
  const generic_details = { description: 'Which colour?' };
  const call: ToolCall = {
    tool_call_id: 'q',
    tool_name: 'ask_user',
    status: 'PENDING',
    description: 'Which colour?',
    input_parameters: {},
    correlationId: 'q1',
    confirmation_request: { options, generic_details },
  };
  const session = new ScriptedSession();
  session.call(call);
  const asked = reduceState(INITIAL, session.snapshot());
  const texts = (focus: DialogFocus) => {
    const ui = { ...uiAfter([], {}), state: asked, dialog: { ...NO_DIALOG, focus } };
    const size = { width: 80, height: 30, spinner: '⠋', now: 0 };
    return frame({ ui, self: TERMINAL, renderers, ...size })
      .lines.map(textOfLine)
      .join('\n');
  };
  assert.equal(texts('options').split('Which colour?').length, 2, 'it is asked once');
  assert.match(texts('options'), /Esc declines · Tab types an answer/);
  assert.match(texts('answer'), /❯ Your answer/);
  session.answer({ tool_call_id: 'q', selected_option_id: 'cancel', reason: 'blue' }, TERMINAL);
  const [entry] = reduceState(INITIAL, session.snapshot()).log.open;
  assert.equal(entry?.kind === 'call' && entry.decision?.option, 'blue');
});

test('the status line shows the mode at every width; the cost, the limit and the model give way first', () => {
  const state = {
    ...INITIAL,
    model: 'a-model',
    approval: 'ask',
    clients: [TERMINAL, PHONE],
    usage: { contextTokens: 50_000, contextLimit: 200_000, costUsd: 1.5 },
  };
  const status = (width: number) =>
    textOfLine(statusLine({ state, self: TERMINAL, width, a2aPort: 1234 }));
  assert.match(status(80), /^ a-model · ask · 25% of 200k · \$1\.50 +A2A :1234 · 1 client $/);
  assert.equal(status(50), ' a-model · ask · 25% of 200k A2A :1234 · 1 client ');
  assert.equal(status(44), ' a-model · ask · 25%   A2A :1234 · 1 client ');
  assert.equal(status(40), ' a-model · ask     A2A :1234 · 1 client ');
  assert.equal(status(30), ' ask     A2A :1234 · 1 client ');
  assert.equal(status(20), ' ask      A2A :1234 ');
  const many = [
    TERMINAL,
    ...Array.from({ length: 99 }, (_, at) => ({ ...PHONE, id: `a2a-${at}` })),
  ];
  const crowd = {
    state: { ...state, clients: many },
    self: TERMINAL,
    width: 80,
    a2aPort: 1,
  };
  assert.match(textOfLine(statusLine(crowd)), / 99\+ clients $/, 'the session lists no more');
  const attached = { state, self: PHONE, width: 80, attachedTo: 'http://127.0.0.1:9' };
  assert.match(textOfLine(statusLine(attached)), /attached 127\.0\.0\.1:9 · 1 client $/);
});

test('open entries that have no room are counted', () => {
  const session = new ScriptedSession();
  session.call({ ...shellCall('task', 'x'), status: 'EXECUTING' });
  for (let at = 0; at < 40; at++) {
    const call = { ...shellCall(`c${at}`, `step ${at}`), agent: 'scout' };
    session.call({ ...call, status: 'SUCCEEDED', output: { text: 'ok' } });
  }
  const ui = { ...uiAfter([], {}), state: reduceState(INITIAL, session.snapshot()) };
  const size = { width: 80, height: 24, spinner: '⠋', now: 0 };
  const { lines } = frame({ ui, self: TERMINAL, renderers, ...size });
  const shown = lines.map(textOfLine);
  const [, hidden] = /^… (\d+) earlier entries$/.exec(shown[0]!) ?? [];
  const drawn = shown.filter((text) => text.includes('scout › ')).length;
  assert.ok(Number(hidden) + drawn >= 40 && Number(hidden) + drawn <= 41);
});
