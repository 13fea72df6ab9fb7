// The approval mode and the model of a session, as an editor sees and sets them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { methods, type SessionConfigOption } from '@agentclientprotocol/sdk';
import { offlineModel } from '../../src/agent/models/offline.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { editorFor, editorIn, startLive, type Editor } from './support.ts';

const { setConfigOption, setMode } = methods.agent.session;
const models = ['offline'];
const resolve = () => offlineModel();

/** The current value and the possible values of each option. */
function shown(options: readonly SessionConfigOption[] | null | undefined) {
  return Object.fromEntries(
    (options ?? []).map((option) => {
      assert.ok(option.type === 'select');
      const values = option.options.map((each) => ('value' in each ? each.value : each.group));
      return [option.id, [option.currentValue, ...values]];
    }),
  );
}

function set(editor: Editor, configId: string, value: string) {
  const { sessionId } = editor;
  return editor.connection.agent.request(setConfigOption, { sessionId, configId, value });
}

/** The raw response, because the SDK's client drops fields that are no longer in its schema. */
function raw(editor: Editor, method: string, params: object): Promise<unknown> {
  return editor.connection.agent.request(method, params);
}

test('session/new and session/load have the mode and the model as config options', async (t) => {
  const started = await startLive(t, { models });
  const [editor, late] = [editorIn(t, started), editorIn(t, started)];
  const { configOptions, sessionId } = await editor.open();
  const all = {
    mode: ['ask', 'ask', 'auto-edit', 'plan', 'yolo'],
    model: ['scripted', 'scripted', 'offline'],
  };
  assert.deepEqual(shown(configOptions), all);
  assert.deepEqual(
    configOptions?.map(({ category }) => category),
    ['mode', 'model'],
  );
  await late.initialize();
  assert.deepEqual(shown((await late.load(sessionId)).configOptions), all);
});

test('a chosen model answers the next prompt, and all clients learn of the choice', async (t) => {
  const model = scriptedModel([[{ text: 'Scripted.' }]]);
  const started = await startLive(t, { model, models, resolve });
  const [one, other] = [editorIn(t, started), editorIn(t, started)];
  await Promise.all([one.open(), other.open()]);
  const { configOptions } = await set(one, 'model', 'offline');
  assert.equal(shown(configOptions)['model']?.[0], 'offline');
  assert.equal(one.text, '', 'the reply of the command is not shown');
  await other.until(() => other.of('config_option_update').length === 1);
  assert.equal(shown(other.of('config_option_update')[0]?.configOptions)['model']?.[0], 'offline');
  await one.prompt('who are you?');
  assert.match(one.text, /offline model/);
  await set(one, 'model', 'scripted');
  one.updates.length = 0;
  await one.prompt('again');
  assert.equal(one.text, 'Scripted.');
  one.updates.length = 0;
  await one.prompt('/model');
  assert.equal(one.text, 'The model is scripted. Other models: offline.');
});

test('a choice that another client makes in words is announced', async (t) => {
  const started = await startLive(t, { models, resolve });
  const editor = editorIn(t, started);
  await editor.open();
  const terminal = started.live.join({ kind: 'terminal' });
  await terminal.prompt('/model offline');
  await terminal.prompt('/approval plan');
  const last = () => shown(editor.of('config_option_update').at(-1)?.configOptions);
  await editor.until(() => last()['mode']?.[0] === 'plan');
  assert.equal(last()['model']?.[0], 'offline');
  assert.equal(editor.of('current_mode_update').at(-1)?.currentModeId, 'plan');
});

test('the mode can be set as a config option, and as a mode', async (t) => {
  const editor = editorIn(t, await startLive(t));
  await editor.open();
  const { configOptions } = await set(editor, 'mode', 'plan');
  assert.equal(shown(configOptions)['mode']?.[0], 'plan');
  const { sessionId } = editor;
  await editor.connection.agent.request(setMode, { sessionId, modeId: 'ask' });
  const updates = editor.of('config_option_update').map((each) => shown(each.configOptions));
  assert.deepEqual(
    updates.map(({ mode }) => mode?.[0]),
    ['plan', 'ask'],
  );
});

test('clients of older versions get and set the model by their own names', async (t) => {
  const started = await startLive(t, { models, resolve });
  const editor = editorIn(t, started);
  await editor.initialize();
  const response = await raw(editor, 'session/new', { cwd: '/', mcpServers: [] });
  assert.deepEqual(Object.entries(response ?? {}).find(([key]) => key === 'models')?.[1], {
    currentModelId: 'scripted',
    availableModels: [
      { modelId: 'scripted', name: 'scripted' },
      { modelId: 'offline', name: 'offline' },
    ],
  });
  const sessionId = started.live.contextId;
  await raw(editor, 'session/set_model', { sessionId, modelId: 'offline' });
  await editor.until(() => editor.of('config_option_update').length === 1);
  await assert.rejects(raw(editor, 'session/set_model', { sessionId }), { code: -32602 });
});

test('an unknown option or value is refused, with the reason', async (t) => {
  const editor = editorIn(t, await startLive(t, { models }));
  await editor.open();
  const refused = (configId: string, value: string, message: RegExp) =>
    assert.rejects(set(editor, configId, value), { code: -32602, message });
  await refused('colour', 'red', /unknown option colour; use mode or model/);
  await refused('mode', 'nonsense', /unknown mode nonsense/);
  await refused('mode', 'yolo', /yolo is not allowed here: .*--approval yolo/);
  await refused('model', 'nonsense', /nonsense is not allowed here: unknown model "nonsense"/);
  await refused('model', 'a\nb', /not the name of a model/);
  assert.deepEqual(editor.of('config_option_update'), []);
  assert.equal(editor.text, '');
});

test('a client that may only prompt cannot choose a model', async (t) => {
  const started = await startLive(t, { models, resolve });
  const { editor } = editorFor(t, {
    join: () => started.live.join({ kind: 'acp', roles: ['prompt'] }),
  });
  await editor.open();
  await assert.rejects(set(editor, 'model', 'offline'), { message: /role "approve"/ });
});

test('a choice during a turn takes effect after the turn', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'date' } };
  const started = await startLive(t, {
    models,
    resolve,
    script: [[{ call }], [{ text: 'Ran.' }]],
  });
  const editor = editorIn(t, started);
  await editor.open();
  const turn = editor.prompt('run it');
  await editor.until(() => editor.asked.length === 1);
  const terminal = started.live.join({ kind: 'terminal' });
  const { configOptions } = await set(editor, 'model', 'offline');
  assert.equal(shown(configOptions)['model']?.[0], 'scripted', 'still that of the turn');
  const [{ toolCall } = { toolCall: { toolCallId: '' } }] = editor.asked;
  await terminal.confirm({
    tool_call_id: toolCall.toolCallId,
    selected_option_id: 'proceed_once',
  });
  await turn;
  await editor.until(() => editor.of('config_option_update').length === 1);
  assert.equal(shown(editor.of('config_option_update')[0]?.configOptions)['model']?.[0], 'offline');
  assert.equal(editor.text, 'Ran.');
});

test('a choice while the agent waits for an answer in words is not the answer', async (t) => {
  const call = { name: 'ask_user', args: { question: 'Which colour?' } };
  const script = [[{ call }], [{ text: 'Painted.' }]];
  const editor = editorIn(t, await startLive(t, { models, resolve, script }));
  await editor.open();
  await editor.prompt('paint');
  await set(editor, 'mode', 'plan');
  assert.equal(editor.of('tool_call_update').at(-1)?.status, undefined, 'the call still waits');
  await editor.prompt('red');
  assert.match(JSON.stringify(editor.of('tool_call_update').at(-1)), /red/);
  assert.match(editor.text, /Painted\.$/);
});
