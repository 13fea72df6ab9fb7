/** acpx, a client of ACP for the command line, with `parley acp` as its agent. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { AnyMessage } from '@agentclientprotocol/sdk';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { isObject } from '../../src/base/index.ts';
import { makePlace } from '../coder/support.ts';
import { startProgram } from '../cli/support.ts';
import { tries } from '../support/interop-table.ts';
import { binOf, programs } from './programs.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');
const ANSWER = 'Both are done, once.';

const write = { name: 'write_file', args: { path: 'a.txt', content: 'by acpx\n' } };
const run = { name: 'run_shell_command', args: { command: 'cat a.txt && true' } };
const script: ScriptedResponse[] = [[{ call: write }], [{ call: run }], [{ text: ANSWER }]];

function note(t: TestContext, ...operations: readonly string[]): void {
  for (const operation of operations)
    tries(t, { protocol: 'ACP', peer: 'acpx 0.19.1', role: 'client', operation });
}

/** Runs one prompt with acpx, and returns its workspace and the messages that it has logged. */
async function prompt(t: TestContext, flags: readonly string[]) {
  const { workspace, home } = makePlace(t);
  const file = join(home, 'script.json');
  writeFileSync(file, JSON.stringify(script));
  const command = `${process.execPath} --conditions=parley-source ${MAIN} acp --model scripted:${file}`;
  const { ended } = startProgram(
    binOf(programs.acpx, 'acpx'),
    [
      '--agent',
      command,
      '--cwd',
      workspace,
      '--format',
      'json',
      ...flags,
      'exec',
      'write and read',
    ],
    { env: { HOME: home } },
  );
  const { out, err } = await ended;
  const messages = out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): AnyMessage => JSON.parse(line));
  const text = messages.map(textIn).join('');
  const methods = messages.flatMap((message) => ('method' in message ? [message.method] : []));
  return { workspace, text, methods, out, err };
}

/** Returns the agent's text in a message. */
function textIn(message: AnyMessage): string {
  const params = 'params' in message && isObject(message.params) ? message.params : {};
  const { update } = params;
  if (!isObject(update) || update['sessionUpdate'] !== 'agent_message_chunk') return '';
  const { content } = update;
  return isObject(content) && typeof content['text'] === 'string' ? content['text'] : '';
}

test('acpx approves calls, which use its files and its terminals, and gets the text once', async (t) => {
  note(t, 'initialize', 'prompt', 'approve', 'files', 'terminal');
  const { workspace, text, methods, out, err } = await prompt(t, ['--approve-all']);
  assert.equal(text, ANSWER, err + out);
  assert.equal(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'by acpx\n');
  for (const method of ['session/request_permission', 'fs/write_text_file', 'terminal/create']) {
    assert.ok(methods.includes(method), method);
  }
  assert.match(out, /"output":"by acpx\\n"/, 'what the terminal has shown');
});

test('acpx without files and terminals gets the same text once, from the disk and the local shell', async (t) => {
  const flags = ['--approve-all', '--no-fs', '--no-terminal'];
  const { workspace, text, methods, err } = await prompt(t, flags);
  assert.equal(text, ANSWER, err);
  assert.equal(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'by acpx\n');
  assert.ok(!methods.some((method) => /^(fs|terminal)\//.test(method)), String(methods));
});

test('acpx rejects calls, and nothing is written', async (t) => {
  const { workspace, text, methods } = await prompt(t, ['--deny-all']);
  assert.equal(existsSync(join(workspace, 'a.txt')), false);
  assert.ok(!methods.includes('fs/write_text_file'));
  assert.equal(text, ANSWER);
});
