import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { editCall } from '../../test/tui/demo.ts';
import { ScriptedSession } from '../../test/tui/scripted-session.ts';
import { startPlain } from './plain.ts';

test('a number does not answer a question that is not printed yet', async () => {
  const session = new ScriptedSession();
  const stdin = new PassThrough();
  const stdout = new PassThrough({ encoding: 'utf8' });
  let printed = '';
  stdout.on('data', (text: string) => (printed += text));
  const prints = async (text: string): Promise<void> => {
    while (!printed.includes(text)) await once(stdout, 'data');
  };
  const done = startPlain(session, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
  });
  await prints('Parley in');
  session.think('Looking', '');
  await prints('Looking');
  let chosen: string | undefined;
  void session.ask(editCall('e')).then(({ confirmation }) => {
    chosen = confirmation.selected_option_id;
  });
  await turn();
  stdin.write('1\n');
  await prints('type the answer again');
  assert.equal(chosen, undefined);
  stdin.write('1\n');
  await prints('type the answer again');
  stdin.write('/quit\n');
  assert.equal(await done, 'left');
  assert.equal(chosen, 'proceed_once');
});

test('a question of several lines is printed once', async () => {
  const session = new ScriptedSession();
  const stdin = new PassThrough();
  const stdout = new PassThrough({ encoding: 'utf8' });
  let printed = '';
  stdout.on('data', (text: string) => (printed += text));
  const done = startPlain(session, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
  });
  const description =
    'The MCP server a asks: Who?\n- name: text\nAnswer with a line for each field.';
  void session.ask({
    tool_call_id: 'q',
    status: 'PENDING',
    tool_name: 'elicitation',
    description,
    input_parameters: { name: 'text' },
    confirmation_request: {
      options: [
        { id: 'option_1', name: 'Decline' },
        { id: 'answer', name: 'Answer in your own words' },
      ],
      generic_details: { description },
    },
  });
  while (!printed.includes('Type the number')) await once(stdout, 'data');
  stdin.write('/quit\n');
  assert.equal(await done, 'left');
  assert.equal(printed.split('- name: text').length, 2);
  assert.match(printed, /^Question: The MCP server a asks: Who\?\n- name: text\nAnswer/m);
});

test('a command after ! runs in the own shell of a person who types it, and an unknown command is not sent', async () => {
  const sent: string[] = [];
  const session = new ScriptedSession({
    onPrompt: async (_, text) => void sent.push(text),
    commands: [{ name: 'help', description: '', arguments: [], sub_commands: [] }],
  });
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const stdout = new PassThrough({ encoding: 'utf8' });
  let printed = '';
  stdout.on('data', (text: string) => (printed += text));
  const prints = async (text: string): Promise<void> => {
    while (!printed.includes(text)) await once(stdout, 'data');
  };
  const ran: string[] = [];
  const done = startPlain(session, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    async shell(command) {
      ran.push(command);
      return { output: 'three files', code: 0 };
    },
  });
  await prints('!COMMAND');
  stdin.write('!ls\n');
  await prints('three files');
  stdin.write('/hepl\n');
  await prints('There is no command /hepl. Did you mean /help?');
  stdin.write('/help\nand now?\n');
  while (sent.length < 2) await turn();
  stdin.write('/quit\n');
  assert.equal(await done, 'left');
  assert.deepEqual(ran, ['ls']);
  assert.deepEqual(sent, ['/help', 'and now?']);
});

test('a line with ! from a script is not run', async () => {
  const sent: string[] = [];
  const session = new ScriptedSession({ onPrompt: async (_, text) => void sent.push(text) });
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  stdout.resume();
  const done = startPlain(session, {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    shell: () => assert.fail('the command was run'),
  });
  stdin.write('!ls\n');
  while (sent.length < 1) await turn();
  stdin.write('/quit\n');
  await done;
  assert.deepEqual(sent, ['!ls']);
});
