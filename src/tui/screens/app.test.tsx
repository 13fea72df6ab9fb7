import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { render } from 'ink-testing-library';
import { editCall } from '../../../test/tui/demo.ts';
import { PHONE, ScriptedSession, TERMINAL } from '../../../test/tui/scripted-session.ts';
import { within } from '../../../test/support/within.ts';
import { line } from '../../display/index.ts';
import { Controller } from '../control/controller.ts';
import { NONE } from '../text/theme.ts';
import { AppScreen } from './app.tsx';
import { PickerScreen, pickSession } from './picker.tsx';

function open(t: TestContext) {
  const session = new ScriptedSession();
  const controller = new Controller(session, {});
  const screen = render(
    <AppScreen controller={controller} theme={NONE} options={{ a2aPort: 1234 }} />,
  );
  const done = controller.run();
  t.after(async () => {
    controller.leave();
    await done;
    screen.unmount();
  });
  return { session, screen, sees: (pattern: RegExp) => seen(screen, pattern) };
}

/** Waits for a frame that matches the pattern. */
async function seen(
  { stdout, lastFrame }: ReturnType<typeof render>,
  pattern: RegExp,
): Promise<string> {
  const write = stdout.write.bind(stdout);
  const { promise, resolve } = Promise.withResolvers<string>();
  const look = () => pattern.test(lastFrame() ?? '') && resolve(lastFrame() ?? '');
  stdout.write = (frame) => {
    write(frame);
    look();
  };
  look();
  try {
    return await promise;
  } finally {
    stdout.write = write;
  }
}

test('the first frame shows the text field before the session is loaded', (t) => {
  const { screen } = open(t);
  assert.match(screen.lastFrame() ?? '', /❯ Ask for something/);
});

test('the status line shows the connected clients', async (t) => {
  const { session, sees } = open(t);
  session.present([TERMINAL, PHONE, { ...PHONE, id: 'acp-3', name: 'zed', kind: 'acp' }]);
  await sees(/scripted · ask .* A2A :1234 · 2 clients/);
});

test('prompts of other clients show their names', async (t) => {
  const { session, sees } = open(t);
  session.heard('from far away', PHONE);
  await sees(/❯ \[A2A\] phone: from far away/);
});

test('a dialog shows the diff and all options, and closes when a client answers', async (t) => {
  const { session, sees } = open(t);
  void session.ask(editCall('e'));
  const dialog = await sees(/4 Reject/);
  assert.match(dialog, /\+ import \{ once \}/);
  assert.match(dialog, /❯ 1 Allow once/);
  assert.match(dialog, /3 Allow with other content/);
  session.answer({ tool_call_id: 'e', selected_option_id: 'proceed_once' }, PHONE);
  const after = await sees(/phone: Allow once/);
  assert.doesNotMatch(after, /4 Reject/);
});

test('queued prompts are shown', async (t) => {
  const { session, sees } = open(t);
  session.present([TERMINAL], [{ text: 'and then this', from: 'terminal' }]);
  await sees(/○ and then this/);
});

test('a thought grows while the agent thinks, is one line later, and complete with Ctrl-T', async (t) => {
  const { session, screen, sees } = open(t);
  session.heard('think', TERMINAL);
  session.think('The plan', 'First this,');
  session.think('The plan', '\nthen that.', true);
  await sees(/✻ The plan\n {2}│ First this,\n {2}│ then that\./);
  session.say('So be it. ');
  const closed = await sees(/So be it/);
  assert.doesNotMatch(closed, /then that/);
  screen.stdin.write('\u0014');
  await sees(/│ then that\./);
  screen.stdin.write('\u0014');
});

test('the picker filters the sessions and returns the selected one', async () => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const items = [
    { id: 'one', title: 'Fix the server', when: 'yesterday', preview: [line('It is fixed')] },
    { id: 'two', title: 'Write the docs', when: '2 days ago', preview: [line('About ports')] },
  ];
  const screen = render(<PickerScreen items={items} theme={NONE} onPick={resolve} />);
  assert.match(screen.lastFrame() ?? '', /❯ Fix the server .* yesterday[^]*It is fixed/);
  screen.stdin.write('docs');
  await seen(screen, /❯ Write the docs[^]*About ports/);
  screen.stdin.write('\r');
  assert.equal(await promise, 'two');
  await seen(screen, /^$/);
  screen.unmount();
});

test('a terminal that is too narrow for the picker does not stop the program', async () => {
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => stdin,
    ref: () => stdin,
    unref: () => stdin,
  });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 2, rows: 20 });
  const items = [{ id: 'one', title: 'Fix it', when: 'now', preview: [line('Fixed')] }];
  const picked = pickSession(items, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    environment: {},
  });
  stdout.resume();
  stdin.write('\r');
  assert.equal(await within('the choice', picked), 'one');
});
