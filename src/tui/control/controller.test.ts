import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { editCall, COMMANDS } from '../../../test/tui/demo.ts';
import {
  PHONE,
  ScriptedSession,
  TERMINAL,
  type ScriptedOptions,
} from '../../../test/tui/scripted-session.ts';
import { Controller } from './controller.ts';
import { press, type KeyPress } from '../input/keys.ts';
import type { TuiOptions } from './options.ts';
import { asking, type Ui } from '../view/ui.ts';

function open(t: TestContext, options: TuiOptions = {}, scripted: ScriptedOptions = {}) {
  const session = new ScriptedSession({ commands: COMMANDS, ...scripted });
  const controller = new Controller(session, options);
  const done = controller.run();
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
    until: async (holds: (ui: Ui) => boolean): Promise<Ui> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => holds(controller.ui) && resolve();
      const stop = controller.subscribe(look);
      look();
      await promise;
      stop();
      return controller.ui;
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
  const { session, controller, type, until } = open(t);
  const answered = session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type(press('down'), enter);
  assert.equal(asking(controller.ui).length, 0);
  assert.equal((await answered).confirmation.selected_option_id, 'proceed_always');
});

test('a number chooses its option, and Esc chooses cancel', async (t) => {
  const { session, type, until } = open(t);
  for (const [key, option] of [
    ['1', 'proceed_once'],
    [escape, 'cancel'],
  ] as const) {
    const answered = session.ask(editCall(`e-${option}`));
    await until((ui) => asking(ui).length === 1);
    type(key);
    assert.equal((await answered).confirmation.selected_option_id, option);
  }
});

test('a late answer shows who answered first, and how', async (t) => {
  const { session, controller, type, until } = open(t);
  void session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
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

test('a dialog that opens while the person types is not answered by the next character', async (t) => {
  const { session, controller, type, until } = open(t);
  type('I have ');
  void session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type('1');
  assert.equal(asking(controller.ui).length, 1);
  assert.equal(controller.ui.composer.buffer.text, 'I have 1');
});

test('the option modify opens the editor', async (t) => {
  const { session, type, until } = open(t, {
    editor: async (text, name) => `${name}: ${text.length > 0}`,
  });
  const answered = session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type('3');
  assert.deepEqual((await answered).confirmation.file_details, { new_content: 'server.ts: true' });
});

test('without an editor, or if nothing was saved, the dialog stays open', async (t) => {
  for (const editor of [undefined, async () => undefined]) {
    const { session, type, until } = open(t, { editor });
    void session.ask(editCall('e'));
    await until((ui) => asking(ui).length === 1);
    type('3');
    const ui = await until((now) => notices(now).length === 1);
    assert.match(notices(ui).join(), /editor/);
    assert.equal(asking(ui).length, 1);
  }
});

test('Tab declines with a reason, which the agent gets', async (t) => {
  const { session, controller, type, until } = open(t);
  const answered = session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type(press('tab'), '1 address is too few', enter);
  const { confirmation } = await answered;
  assert.equal(confirmation.selected_option_id, 'cancel');
  assert.equal(confirmation.reason, '1 address is too few');
  assert.equal(asking(controller.ui).length, 0);
});

test('a question that is answered in words gets a message', async (t) => {
  const { session, controller, type, until } = open(t);
  const options = [
    { id: 'answer', name: 'Answer in a message' },
    { id: 'cancel', name: 'Do not answer' },
  ];
  const confirmation_request = { options, generic_details: { description: 'Which colour?' } };
  void session.ask({ ...editCall('q'), confirmation_request });
  await until((ui) => asking(ui).length === 1);
  type(enter);
  assert.equal(controller.ui.dialog.talking, true);
  type('blue', enter);
  const ui = await until(({ state }) => state.log.open.some(({ kind }) => kind === 'prompt'));
  const said = ui.state.log.open.find((entry) => entry.kind === 'prompt');
  assert.equal(said?.text, 'blue');
});

test('a client with only the role view cannot answer', async (t) => {
  const self = { ...TERMINAL, roles: ['view'] as const };
  const { session, controller, type, until } = open(t, {}, { self });
  void session.ask(editCall('e'));
  await until((ui) => asking(ui).length === 1);
  type(enter);
  assert.equal(asking(controller.ui).length, 1);
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
