/** What a person is asked to approve is shown whole: in plain A2A, in the flat API and in ACP. */
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect } from '../../src/client/index.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { textOf, VERSIONS } from '../../src/protocol/index.ts';
import { editorAt, startLive } from '../acp/support.ts';
import { calls, done } from './checked-talk.ts';
import * as flat from './flat-support.ts';
import { startMcp } from './mcp-http.ts';
import { makePlace } from './support.ts';
import { begin, settings } from './talk.ts';

const LONG = `first words ${'filler '.repeat(60)}last words`;
const LINES = 'one line\nowner: somebody\nthe last line';
const ECHO = calls('tools__echo', { text: LONG, body: LINES, more: { deep: ['inside', 7] } });

/** A place whose settings have an MCP server that echoes. */
async function withMcp(t: TestContext) {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: { url: (await startMcp(t)).url } } });
  return place;
}

async function asked(
  t: TestContext,
  script: readonly ScriptedResponse[],
  version: (typeof VERSIONS)[number] = '1.0',
) {
  const { url } = await begin(t, script, { place: await withMcp(t) });
  const agent = await connect(url, { version });
  t.after(() => agent.close());
  const task = await agent.send('go');
  assert.ok(task.kind === 'task' && task.status.state === 'input-required');
  return textOf(task.status.message?.parts ?? []);
}

for (const version of VERSIONS) {
  test(`plain A2A ${version}: an MCP call is asked about with all its arguments`, async (t) => {
    const said = await asked(t, [ECHO, done], version);
    assert.match(said, /^echo \(MCP server tools\)\n/);
    assert.ok(said.includes(LONG));
    // Every line of a text has a bar, so that it cannot imitate another argument.
    assert.ok(said.includes('body:\n| one line\n| owner: somebody\n| the last line\n'));
    assert.ok(said.includes('more: {"deep":["inside",7]}'));
    assert.match(said, /May I do this\? Answer yes or no/);
  });
}

test('plain A2A: both ends of a very long command are shown, and how much is left out', async (t) => {
  const command = `echo begin; echo ${'x'.repeat(25_000)}; rm -rf precious`;
  const said = await asked(t, [calls('run_shell_command', { command }), done]);
  assert.ok(said.length < 17_000, `${said.length} characters`);
  assert.ok(said.includes('echo begin; echo xxx') && said.includes('xxx; rm -rf precious'));
  const [, left = ''] = /\[… (\d+) characters left out …\]/.exec(said) ?? [];
  assert.equal(Number(left), command.length - 16 * 1024);
});

test('plain A2A: arguments beside the command are shown, and invisible characters are visible', async (t) => {
  const args = { command: 'echo a\rls \u202eb', background: true, timeout_ms: 5000 };
  const said = await asked(t, [calls('run_shell_command', args), done]);
  for (const line of ['echo a␍ls <U+202E>b', 'background: true', 'timeout_ms: 5000']) {
    assert.ok(said.split('\n').includes(line), `${line} in ${said}`);
  }
});

test('plain A2A: the whole prompt of a helper is shown', async (t) => {
  const place = makePlace(t);
  settings(place, { policy: [{ tool: 'task', decision: 'ask' }] });
  const script = [calls('task', { name: 'tidy', prompt: LINES }), done];
  const { url } = await begin(t, script, { place });
  const agent = await connect(url);
  t.after(() => agent.close());
  const task = await agent.send('go');
  assert.ok(task.kind === 'task');
  const said = textOf(task.status.message?.parts ?? []);
  assert.ok(said.includes('prompt:\n| one line\n| owner: somebody\n| the last line'), said);
});

test('the flat API: the prompt of a confirmation request has all arguments of an MCP call', async (t) => {
  const { url } = await begin(t, [ECHO, done], { place: await withMcp(t) });
  const events = await flat.say(url, { userMessage: 'go' });
  const { confirmationRequest } = events.find(({ kind }) => kind === 'tool-call-confirmation')!;
  const { prompt } = confirmationRequest as { prompt: string };
  assert.ok(prompt.includes(LONG) && prompt.includes('| the last line'), prompt);
});

test('ACP: the permission request of an MCP call has all its arguments, as input and as text', async (t) => {
  const { url } = await startLive(t, { script: [ECHO, done], place: await withMcp(t) });
  const editor = await editorAt(t, `${url.replace('http', 'ws')}/ws`);
  await editor.open();
  void editor.prompt('go');
  await editor.until(() => editor.asked.length === 1);
  const { content = [], rawInput } = editor.asked[0]!.toolCall;
  assert.deepEqual(rawInput, ECHO[0]?.call?.args);
  const texts = (content ?? []).map((each) =>
    each.type === 'content' && each.content.type === 'text' ? each.content.text : '',
  );
  const shown = texts.join('\n');
  assert.match(shown, /^echo \(MCP server tools\)\n/);
  assert.ok(shown.includes(LONG) && shown.includes(LINES), shown);
  assert.match(shown, /```json\n\{"deep"/);
});

test('ACP: the other arguments of a command are shown, and its invisible characters are visible', async (t) => {
  const args = { command: 'echo a\u001b[2Kls', background: true };
  const { url } = await startLive(t, { script: [calls('run_shell_command', args), done] });
  const editor = await editorAt(t, `${url.replace('http', 'ws')}/ws`);
  await editor.open();
  void editor.prompt('go');
  await editor.until(() => editor.asked.length === 1);
  const shown = JSON.stringify(editor.asked[0]!.toolCall.content);
  assert.ok(shown.includes('echo a␛[2Kls') && shown.includes('background:'), shown);
});

const MODES = 'old mode 100644\nnew mode 100755\n';
const RUNS = calls('apply_patch', { patch: `diff --git a/tool b/tool\n${MODES}` });

/** A place with the file \`tool\`, which is not executable. */
function withTool(t: TestContext) {
  const place = makePlace(t);
  const tool = path.join(place.workspace, 'tool');
  writeFileSync(tool, 'echo\n');
  chmodSync(tool, 0o644);
  return place;
}

test('plain A2A: a patch that only makes a file executable says so', async (t) => {
  const { url } = await begin(t, [RUNS, done], { place: withTool(t) });
  const agent = await connect(url);
  t.after(() => agent.close());
  const task = await agent.send('go');
  assert.ok(task.kind === 'task');
  const said = textOf(task.status.message?.parts ?? []);
  assert.ok(said.includes(MODES), said);
});

test('ACP: a patch that only makes a file executable says so', async (t) => {
  const { url } = await startLive(t, { script: [RUNS, done], place: withTool(t) });
  const editor = await editorAt(t, `${url.replace('http', 'ws')}/ws`);
  await editor.open();
  void editor.prompt('go');
  await editor.until(() => editor.asked.length === 1);
  const shown = JSON.stringify(editor.asked[0]!.toolCall.content);
  assert.ok(shown.includes(JSON.stringify(MODES).slice(1, -1)), shown);
});
