import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ToolCallConfirmation } from '../../protocol/development-tool/index.ts';
import { editCall, COMMANDS } from '../../../test/tui/demo.ts';
import {
  PHONE,
  ScriptedSession,
  TERMINAL,
  type ScriptedOptions,
} from '../../../test/tui/scripted-session.ts';
import { within } from '../../../test/support/within.ts';
import { Controller } from './controller.ts';
import { press, type KeyPress } from '../input/keys.ts';
import type { TuiOptions } from './options.ts';
import { asking, type Ui } from '../view/ui.ts';

function open(t: TestContext, options: TuiOptions = {}, scripted: ScriptedOptions = {}) {
  const session = new ScriptedSession({ commands: COMMANDS, ...scripted });
  const controller = new Controller(session, options);
  const done = controller.run();
  const until = async (holds: (ui: Ui) => boolean): Promise<Ui> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => holds(controller.ui) && resolve();
    const stop = controller.subscribe(look);
    look();
    await within(String(holds), promise).finally(stop);
    return controller.ui;
  };
  /** Waits for a dialog and draws it, with this option preselected. */
  const drawn = async (selected = 0): Promise<void> => {
    const { dialog } = await until((ui) => asking(ui).length === 1);
    controller.drew({ scroll: undefined, dialog: { request: dialog.request, selected } });
  };
  t.after(() => {
    controller.leave();
    return done;
  });
  return {
    session,
    controller,
    done,
    type: (...keys: (KeyPress | string)[]) => {
      for (const key of keys) {
        controller.key(typeof key === 'string' ? press('text', { text: key }) : key);
      }
    },
    /** Waits until the condition holds for the screen state. */
    until,
    drawn,
    /** Waits for a dialog, and until it takes keys. */
    opened: async (selected?: number): Promise<void> => {
      await drawn(selected);
      await until(({ dialog }) => dialog.focus === 'options');
    },
  };
}

const enter = press('enter');
const escape = press('escape');
const ctrlC = press('text', { text: 'c', ctrl: true });

function notices({ state }: Ui): string[] {
  return [...state.log.finished, ...state.log.open].flatMap((entry) =>
    entry.kind === 'notice' ? [entry.text] : [],
  );
}

test('a prompt is sent to the session and added to the history', async (t) => {
  const added: string[] = [];
  const history = { entries: ['old'], add: (text: string) => added.push(text) };
  const { type, until } = open(t, { history });
  type('hello', enter);
  const ui = await until(({ state }) => state.log.finished.length === 1);
  assert.deepEqual(ui.state.log.finished[0]?.kind, 'prompt');
  assert.deepEqual(added, ['hello']);
});

test('Enter sends the selected option and closes the dialog at once', async (t) => {
  const { session, controller, type, opened } = open(t);
  const answered = session.ask(editCall('e'));
  await opened();
  type(press('down'), enter);
  assert.equal(asking(controller.ui).length, 0);
  assert.equal((await answered).confirmation.selected_option_id, 'proceed_always');
});

test('a number chooses its option, and Esc chooses cancel', async (t) => {
  const { session, type, opened } = open(t);
  for (const [key, option] of [
    ['1', 'proceed_once'],
    [escape, 'cancel'],
  ] as const) {
    const answered = session.ask(editCall(`e-${option}`));
    await opened();
    type(key);
    assert.equal((await answered).confirmation.selected_option_id, option);
  }
});

test('a late answer shows who answered first, and how', async (t) => {
  const { session, controller, type, until, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  // Both at the same moment: this client does not know yet that the other client has answered.
  session.answer({ tool_call_id: 'e', selected_option_id: 'proceed_once' }, PHONE);
  type('4');
  const ui = await until((now) => notices(now).length > 0);
  assert.deepEqual(notices(ui), ['phone answered first: Allow once.']);
  assert.equal(asking(controller.ui).length, 0);
});

test('a dialog closes when another client answers', async (t) => {
  const { session, until } = open(t);
  void session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  session.answer({ tool_call_id: 'e', selected_option_id: 'cancel' }, PHONE);
  await until((ui) => asking(ui).length === 0);
});

test('a dialog that opens while the person types is answered by no key until they move to it', async (t) => {
  for (const move of [press('tab'), press('up'), press('down')]) {
    const { session, controller, type, drawn } = open(t);
    type('I have ');
    const answered = session.ask(editCall('e'));
    await drawn();
    type('1', escape, press('backspace'), press('enter', { shift: true }), ctrlC, enter, '2');
    assert.equal(asking(controller.ui).length, 1);
    assert.equal(controller.ui.dialog.focus, 'draft');
    assert.equal(controller.ui.composer.buffer.text, '2');
    type(move);
    assert.equal(controller.ui.dialog.focus, 'options');
    type(enter);
    assert.equal((await answered).confirmation.selected_option_id, 'proceed_once');
    assert.equal(controller.ui.composer.buffer.text, '2', 'the draft is kept');
  }
});

test('a dialog takes no key before it was on the screen for a moment', async (t) => {
  const { session, controller, type, drawn, until } = open(t);
  const answered = session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type(enter, escape, press('tab'), press('up'));
  await drawn();
  type(enter, escape, press('down'), press('tab'), enter);
  assert.equal(asking(controller.ui).length, 1);
  assert.equal(controller.ui.dialog.focus, 'opening');
  await until(({ dialog }) => dialog.focus === 'options');
  type(enter);
  assert.equal((await answered).confirmation.selected_option_id, 'proceed_once');
});

test('a digit that is typed just when a dialog opens is text', async (t) => {
  const { session, controller, type, drawn } = open(t);
  void session.ask(editCall('e'));
  await drawn();
  type('1');
  assert.equal(asking(controller.ui).length, 1);
  assert.equal(controller.ui.composer.buffer.text, '1');
  assert.equal(controller.ui.dialog.focus, 'draft');
});

test('a deleted draft counts as typing when a dialog opens soon after', async (t) => {
  const { session, controller, type, drawn } = open(t);
  type('x', press('backspace'));
  void session.ask(editCall('e'));
  await drawn();
  assert.equal(controller.ui.dialog.focus, 'draft');
});

test('Enter chooses the option that was drawn as selected', async (t) => {
  const { session, type, opened } = open(t);
  const answered = session.ask(editCall('e'));
  await opened(3);
  type(enter);
  assert.equal((await answered).confirmation.selected_option_id, 'cancel');
});

test('a prompt from the editor is a draft, and Enter sends it', async (t) => {
  const { session, controller, type, opened, until } = open(t, {
    editor: async () => 'from the editor',
  });
  void session.ask(editCall('e'));
  await opened();
  type(press('text', { text: 'g', ctrl: true }));
  await until(({ composer }) => composer.buffer.text === 'from the editor');
  type(enter);
  assert.equal(asking(controller.ui).length, 1);
  assert.equal(controller.ui.composer.buffer.text, '');
});

test('a paste goes to the draft, and takes the keys from the dialog', async (t) => {
  const { session, controller, type, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  controller.paste('1\r');
  type(enter);
  assert.equal(asking(controller.ui).length, 1);
});

test('a call that asks again opens a new dialog, and the answer to the first request does not hide it', async (t) => {
  const { session, controller, type, opened, until } = open(t);
  const first = session.ask(editCall('e'));
  await opened();
  const before = controller.ui.dialog.request;
  type(press('down'), enter);
  await first;
  session.call({ ...editCall('e'), correlationId: 'e-2' });
  const ui = await until(({ dialog }) => dialog.request === 'e-2');
  assert.notEqual(before, 'e-2');
  assert.deepEqual([ui.dialog.focus, ui.dialog.selected], ['opening', undefined]);
});

test('a pane covers the dialog, so a key closes the pane and does not answer', async (t) => {
  const { session, controller, type, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  type(press('page-down'));
  assert.equal(controller.ui.pane?.kind, 'request');
  type('1');
  assert.equal(controller.ui.pane, undefined);
  assert.equal(asking(controller.ui).length, 1);
});

test('a draft is not sent while the session would take it as the answer to a question', async (t) => {
  const { session, controller, type, drawn } = open(t);
  type('my draft');
  const options = [
    { id: 'answer', name: 'Answer in a message' },
    { id: 'cancel', name: 'Do not answer' },
  ];
  const confirmation_request = { options, generic_details: { description: 'Which colour?' } };
  void session.ask({ ...editCall('q'), tool_name: 'ask_user', confirmation_request });
  await drawn();
  type(enter);
  assert.equal(controller.ui.composer.buffer.text, 'my draft');
  assert.match(controller.ui.hint ?? '', /A question is waiting\. Tab/);
});

test('a draft that starts with a path is not taken for a command while a question waits', async (t) => {
  const { session, controller, type, drawn } = open(t);
  type('/etc/hosts is broken');
  const options = [{ id: 'answer', name: 'Answer in a message' }];
  const confirmation_request = { options, generic_details: { description: 'Which file?' } };
  void session.ask({ ...editCall('q'), tool_name: 'ask_user', confirmation_request });
  await drawn();
  type(enter);
  assert.equal(controller.ui.composer.buffer.text, '/etc/hosts is broken');
});

test('Esc leaves the text field of a reason without rejecting, and keeps the text', async (t) => {
  const { session, controller, type, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  type(press('tab'), 'because', escape);
  assert.equal(controller.ui.dialog.focus, 'options');
  assert.equal(asking(controller.ui).length, 1);
  assert.equal(controller.ui.composer.buffer.text, 'because');
});

test('keys that arrive together never choose an option, wherever the focus is', async (t) => {
  const tab = press('tab');
  const down = press('down');
  const one = press('text', { text: '1' });
  const starts = [[], [tab], [tab, press('text', { text: 'because' })]];
  const inputs = [
    [tab, enter],
    [tab, one],
    [tab, down, enter],
    [escape, one],
    [press('backspace'), tab, enter],
  ];
  const tried = starts.flatMap((before) => inputs.map((together) => ({ before, together })));
  await Promise.all(
    tried.map(async ({ before, together }) => {
      const { session, controller, type, opened } = open(t);
      void session.ask(editCall('e'));
      await opened();
      type(...before);
      const sent: ToolCallConfirmation[] = [];
      session.confirm = async (answer) => {
        sent.push(answer);
      };
      controller.keys(together);
      assert.deepEqual(sent, [], JSON.stringify({ before, together }));
      assert.equal(asking(controller.ui).length, 1);
    }),
  );
});

test('two Esc keys that arrive together leave the text field of a reason, and do not reject', async (t) => {
  const { session, controller, type, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  type(press('tab'), 'because');
  controller.keys([escape, escape]);
  assert.equal(controller.ui.dialog.focus, 'options');
  assert.equal(asking(controller.ui).length, 1);
});

test('arrow keys that arrive together move the selection of a dialog', async (t) => {
  const { session, controller, opened } = open(t);
  void session.ask(editCall('e'));
  await opened();
  controller.keys([press('down'), press('down')]);
  assert.deepEqual([controller.ui.dialog.focus, controller.ui.dialog.selected], ['options', 2]);
});

test('a session that ends while the editor is open leaves no listener on the input', async (t) => {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const { promise: closed, resolve: close } = Promise.withResolvers<string | undefined>();
  const { session, controller, done, type } = open(t, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    alerts: { terminal: () => 'off' },
    editor: () => closed,
  });
  controller.alerts.start();
  type(press('text', { text: 'g', ctrl: true }));
  await session.close();
  assert.equal(await done, 'ended');
  close('late');
  await setImmediate();
  assert.equal(stdin.listenerCount('data'), 0);
});

test('the option modify opens the editor', async (t) => {
  const { session, type, opened } = open(t, {
    editor: async (text, name) => `${name}: ${text.length > 0}`,
  });
  const answered = session.ask(editCall('e'));
  await opened();
  type('3');
  assert.deepEqual((await answered).confirmation.file_details, { new_content: 'server.ts: true' });
});

test('without an editor, or if nothing was saved, the dialog stays open', async (t) => {
  for (const editor of [undefined, async () => undefined]) {
    const { session, type, until, opened } = open(t, { editor });
    void session.ask(editCall('e'));
    await opened();
    type('3');
    const ui = await until((now) => notices(now).length === 1);
    assert.match(notices(ui).join(), /editor/);
    assert.equal(asking(ui).length, 1);
  }
});

test('Tab declines with a reason, which the agent gets', async (t) => {
  const { session, controller, type, opened } = open(t);
  const answered = session.ask(editCall('e'));
  await opened();
  type(press('tab'), '1 address is too few', enter);
  const { confirmation } = await answered;
  assert.equal(confirmation.selected_option_id, 'cancel');
  assert.equal(confirmation.reason, '1 address is too few');
  assert.equal(asking(controller.ui).length, 0);
});

test('a question that is answered in words gets the text as its answer', async (t) => {
  const { session, controller, type, opened } = open(t);
  const options = [
    { id: 'answer', name: 'Answer in a message' },
    { id: 'cancel', name: 'Do not answer' },
  ];
  const confirmation_request = { options, generic_details: { description: 'Which colour?' } };
  const answered = session.ask({ ...editCall('q'), confirmation_request });
  await opened();
  type(enter);
  assert.equal(controller.ui.dialog.focus, 'answer');
  type('blue', enter);
  const { confirmation } = await answered;
  assert.equal(confirmation.selected_option_id, 'answer');
  assert.equal(confirmation.answer, 'blue');
});

test('a client with only the role view cannot answer', async (t) => {
  const self = { ...TERMINAL, roles: ['view'] as const };
  const { session, controller, type, until } = open(t, {}, { self });
  void session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type(enter);
  assert.equal(asking(controller.ui).length, 1);
});

test('Esc, another key and Esc again do not open the rewind menu', (t) => {
  const { controller, type } = open(t);
  type(escape, 'x', press('backspace'), escape);
  assert.equal(controller.ui.rewind, undefined);
  type(escape);
  assert.ok(controller.ui.rewind);
});

test('Esc cancels the turn, and a second Esc opens the rewind menu', async (t) => {
  const { session, controller, type, until } = open(t);
  type('wrong', enter);
  await until(({ busySince }) => busySince !== undefined);
  type(escape);
  await until(({ state }) => state.turn === 'submitted');
  type(escape);
  assert.deepEqual(controller.ui.rewind, { selected: 0 });
  type(enter);
  assert.equal(controller.ui.composer.buffer.text, 'wrong');
  assert.equal(controller.ui.rewind, undefined);
  assert.equal(session.task.status.state, 'submitted');
});

test('going back to a checkpoint lists the checkpoints', async (t) => {
  const { controller, type, until } = open(t);
  type(escape, escape, '2');
  const ui = await until(({ state }) => state.log.finished.length === 1);
  const [entry] = ui.state.log.finished;
  assert.equal(entry?.kind === 'prompt' && entry.text, '/restore list');
  assert.equal(controller.ui.composer.buffer.text, '/restore ');
});

test('Ctrl-C clears the text, and a second one leaves', async (t) => {
  const { controller, done, type } = open(t);
  type('text', ctrlC);
  assert.equal(controller.ui.composer.buffer.text, '');
  assert.match(controller.ui.hint ?? '', /again/);
  type(ctrlC);
  assert.equal(await done, 'left');
});

test('/quit leaves, and so does Ctrl-D with an empty text', async (t) => {
  const quit = open(t);
  quit.type('/quit', enter);
  assert.equal(await quit.done, 'left');
  const end = open(t);
  end.type(press('text', { text: 'd', ctrl: true }));
  assert.equal(await end.done, 'left');
});

test('the UI ends with the session', async (t) => {
  const { session, done } = open(t);
  await session.close();
  assert.equal(await done, 'ended');
});

test('commands and files are completed', async (t) => {
  const { type, until, controller } = open(t, { files: async (prefix) => [`${prefix}rc/`] });
  type('/mem');
  await until(({ composer }) => composer.completion?.choices[0]?.text === 'memory ');
  type(press('tab'));
  assert.equal(controller.ui.composer.buffer.text, '/memory ');
  await until(({ composer }) => composer.completion?.choices.length === 2);
  type(ctrlC, '@s');
  await until(({ composer }) => composer.completion?.choices[0]?.text === 'src/');
});

test('pasted text keeps its line breaks', (t) => {
  const { controller } = open(t);
  controller.paste('one\r\ntwo\rthree');
  assert.equal(controller.ui.composer.buffer.text, 'one\ntwo\nthree');
});

test('an error of the session is shown', async (t) => {
  const { session, type, until } = open(t);
  session.prompt = () => Promise.reject(new Error('The queue is full.'));
  type('x', enter);
  assert.deepEqual(notices(await until((ui) => notices(ui).length > 0)), ['The queue is full.']);
});

test('after a draft was sent beside a dialog, the next dialog gets no keys at once', async (t) => {
  const { session, controller, type, until, opened } = open(t);
  void session.ask(editCall('first'));
  await opened();
  type('next', enter);
  session.answer({ tool_call_id: 'first', selected_option_id: 'cancel' }, PHONE);
  void session.ask(editCall('second'));
  await until((ui) => asking(ui)[0]?.call.tool_call_id === 'second');
  assert.equal(controller.ui.dialog.focus, 'draft');
});
