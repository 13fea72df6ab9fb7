/** Gemini CLI, whose model asks the coding agent as a remote agent. What its model gets back is what counts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { makePlace, startCoder } from '../coder/support.ts';
import { tries } from '../support/interop-table.ts';
import { startGemini } from './fake-gemini.ts';
import { folderOf, programs } from './programs.ts';

/** Gemini CLI puts this line before each artifact. */
const HEADING = 'Artifact (response):\n';
const TEXT = 'Two files are here: the first is long, the second is short. Nothing else was found.';

function note(t: TestContext, ...operations: readonly string[]): void {
  const peer = '@google/gemini-cli 0.61.0';
  for (const operation of operations)
    tries(t, { protocol: 'A2A', peer, role: 'client', operation });
}

/** Starts Gemini CLI. Its model calls the remote agent with each prompt, and gets the agent's answer. */
async function startCli(t: TestContext, agentUrl: string) {
  const model = await startGemini(t);
  const home = mkdtempSync(join(tmpdir(), 'parley-gemini-'));
  const settings = join(home, '.gemini');
  mkdirSync(join(settings, 'agents'), { recursive: true });
  mkdirSync(join(home, 'work'));
  const auth = { security: { auth: { selectedType: 'gemini-api-key' } } };
  const quiet = {
    privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true },
  };
  writeFileSync(join(settings, 'settings.json'), JSON.stringify({ ...auth, ...quiet }));
  const agent = [
    '---',
    'kind: remote',
    'name: parley',
    'description: A coding agent',
    `agent_card_url: ${agentUrl}/.well-known/agent-card.json`,
    '---',
    '',
  ];
  writeFileSync(join(settings, 'agents', 'parley.md'), agent.join('\n'));
  const main = join(
    folderOf(programs.geminiCli),
    'node_modules/@google/gemini-cli/bundle/gemini.js',
  );
  const child = spawn(
    process.execPath,
    [main, '--approval-mode', 'yolo', '--model', 'gemini-2.5-flash', '--prompt', 'ask parley'],
    {
      cwd: join(home, 'work'),
      stdio: 'ignore',
      env: { ...process.env, ...model.env, HOME: home, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    },
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  let call = await model.next();
  return async (prompt: string): Promise<string> => {
    call.answer({ functionCall: { name: 'invoke_agent', args: { agent_name: 'parley', prompt } } });
    call = await model.next();
    return call.output ?? '';
  };
}

async function start(t: TestContext, script: readonly ScriptedResponse[]) {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script });
  return { ask: await startCli(t, url), at: (file: string) => join(place.workspace, file) };
}

test('the model of Gemini CLI gets the text of the coding agent once, and nothing else', async (t) => {
  note(t, 'card', 'stream', 'same text once');
  const thought = { thought: { subject: 'Looking', description: 'I look at the folder.' } };
  const list = { call: { name: 'list_directory', args: {} } };
  const { ask } = await start(t, [[thought, list], [{ text: TEXT }]]);
  assert.equal(await ask('What is here?'), `${HEADING}${TEXT}`);
});

test('Gemini CLI answers an approval with the name of an option', async (t) => {
  note(t, 'approve');
  const write = { call: { name: 'write_file', args: { path: 'note.txt', content: 'by hand' } } };
  const { ask, at } = await start(t, [[write], [{ text: 'It is written.' }]]);
  const asked = await ask('write it');
  assert.match(asked, /note\.txt[^]*Allow once[^]*Reject/);
  assert.doesNotMatch(asked, /tool_call_id|developer-profile/);
  // The stream of the answer begins with the task, and so with the question.
  const done = await ask('Allow once');
  assert.equal(done, `${asked}\n\n${HEADING}It is written.`);
  assert.equal(readFileSync(at('note.txt'), 'utf8'), 'by hand');
});
