// An ACP client in a live session.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { methods, type NewSessionRequest } from '@agentclientprotocol/sdk';
import type { ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { writes } from '../coder/talk.ts';
import { Watcher } from '../live/support.ts';
import { allowed, editorFor, editorIn, outline, startLive, textIn, VERSION } from './support.ts';

test('initialize returns the capabilities and the name of the agent', async (t) => {
  const editor = editorIn(t, await startLive(t));
  const { protocolVersion, agentInfo, agentCapabilities } = await editor.initialize();
  assert.equal(protocolVersion, 1);
  assert.deepEqual(agentInfo, { name: 'parley', title: 'Parley', version: VERSION });
  assert.equal(agentCapabilities?.loadSession, true);
  assert.equal(agentCapabilities?.promptCapabilities?.embeddedContext, true);
});

test('session/new gives the live session, its modes and its commands', async (t) => {
  const started = await startLive(t);
  const editor = editorIn(t, started);
  const { sessionId, modes } = await editor.open();
  assert.equal(sessionId, started.live.contextId);
  assert.equal(modes?.currentModeId, 'ask');
  assert.deepEqual(
    modes?.availableModes.map(({ id }) => id),
    ['ask', 'auto-edit', 'plan', 'yolo'],
  );
  await editor.until(() => editor.of('available_commands_update').length > 0);
  const [{ availableCommands } = { availableCommands: [] }] = editor.of(
    'available_commands_update',
  );
  const approval = availableCommands.find(({ name }) => name === 'approval');
  assert.equal(approval?.input?.hint, '[MODE]');
});

test('a prompt is answered in pieces, and ends with its turn', async (t) => {
  const script = [
    [{ thought: { subject: 'Greeting', description: 'Be kind.' } }, { text: 'Hello there.' }],
  ];
  const editor = editorIn(t, await startLive(t, { script }));
  await editor.open();
  assert.deepEqual(await editor.prompt('hi'), { stopReason: 'end_turn' });
  assert.equal(editor.text, 'Hello there.');
  assert.match(textIn(editor.of('agent_thought_chunk')), /^\*\*Greeting\*\*\n\nBe kind\.\n\n$/);
  assert.deepEqual(editor.heard, [], 'its own words are not sent back');
});

test('a file is written after permission, with its diff and all states of the call', async (t) => {
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'new\n' } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Done.' }]] });
  const file = join(started.workspace, 'a.txt');
  writeFileSync(file, 'old\n');
  const editor = editorIn(t, started);
  editor.answer = () => allowed;
  await editor.open();
  assert.deepEqual(await editor.prompt('write it'), { stopReason: 'end_turn' });
  assert.equal(readFileSync(file, 'utf8'), 'new\n');
  const [request] = editor.asked;
  const diff = { type: 'diff', path: file, oldText: 'old\n', newText: 'new\n' };
  assert.deepEqual(request?.toolCall.content, [diff]);
  assert.deepEqual(request?.toolCall.locations, [{ path: file }]);
  assert.deepEqual(
    request?.options.map(({ optionId, kind }) => `${optionId} ${kind}`),
    [
      'proceed_once allow_once',
      'proceed_always allow_always',
      'proceed_always_tool allow_always',
      'proceed_always_and_save allow_always',
      'cancel reject_once',
    ],
  );
  const [announced] = editor.of('tool_call');
  assert.equal(announced?.kind, 'edit');
  assert.equal(announced?.name, 'write_file');
  assert.deepEqual(announced?.rawInput, call.args);
  const statuses = editor.of('tool_call_update').map(({ status }) => status);
  assert.deepEqual([announced?.status, ...statuses], ['pending', 'in_progress', 'completed']);
  assert.deepEqual(editor.of('tool_call_update').at(-1)?.content, [diff]);
});

test('a rejected call is shown as failed, and the turn continues', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'rm -rf .' } };
  const editor = editorIn(t, await startLive(t, { script: [[{ call }], [{ text: 'Left it.' }]] }));
  editor.answer = () => ({ outcome: { outcome: 'selected', optionId: 'cancel' } });
  await editor.open();
  assert.deepEqual(await editor.prompt('clean up'), { stopReason: 'end_turn' });
  assert.equal(editor.asked[0]?.toolCall.kind, 'execute');
  const [content] = editor.asked[0]?.toolCall.content ?? [];
  assert.deepEqual(content, {
    type: 'content',
    content: { type: 'text', text: '```sh\nrm -rf .\n```' },
  });
  assert.equal(editor.of('tool_call_update').at(-1)?.status, 'failed');
  assert.equal(editor.text, 'Left it.');
});

test('the output of a command is shown while it runs', async (t) => {
  const command = 'echo one; until [ -e go ]; do sleep 0.02; done; echo two';
  const call = { name: 'run_shell_command', args: { command } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Ran.' }]] });
  const editor = editorIn(t, started);
  editor.answer = () => allowed;
  await editor.open();
  const ended = editor.prompt('run it');
  const shown = () => JSON.stringify(editor.of('tool_call_update').at(-1)?.content);
  await editor.until(() => shown()?.includes('one') ?? false);
  assert.equal(editor.of('tool_call_update').at(-1)?.status, 'in_progress');
  writeFileSync(join(started.workspace, 'go'), '');
  await ended;
  const { content, rawOutput, status } = editor.of('tool_call_update').at(-1)!;
  const text = '```\none\ntwo\n```';
  assert.deepEqual(content, [{ type: 'content', content: { type: 'text', text } }]);
  assert.deepEqual(rawOutput, { text: 'one\ntwo\n' });
  assert.equal(status, 'completed');
});

test('reading a file has a location, and the to-do list becomes the plan', async (t) => {
  const items = [
    { text: 'look', status: 'completed' },
    { text: 'leap', status: 'pending' },
  ];
  const script: ScriptedResponse[] = [
    [
      { call: { name: 'read_file', args: { path: 'a.txt', offset: 2 } } },
      { call: { name: 'todo', args: { items } } },
    ],
    [{ text: 'Planned.' }],
  ];
  const started = await startLive(t, { script });
  const file = join(started.workspace, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  const editor = editorIn(t, started);
  await editor.open();
  await editor.prompt('plan');
  const [read, ...others] = editor.of('tool_call');
  assert.equal(read?.kind, 'read');
  assert.deepEqual(read?.locations, [{ path: file, line: 2 }]);
  assert.deepEqual(others, [], 'the list is no call besides');
  assert.deepEqual(editor.of('plan'), [
    {
      sessionUpdate: 'plan',
      entries: [
        { content: 'look', priority: 'medium', status: 'completed' },
        { content: 'leap', priority: 'medium', status: 'pending' },
      ],
    },
  ]);
});

test('session/cancel ends the turn, its calls and the queued prompts', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'sleep 600' } };
  const editor = editorIn(t, await startLive(t, { script: [[{ call }], [{ text: 'Again.' }]] }));
  editor.answer = () => allowed;
  await editor.open();
  const first = editor.prompt('run it');
  await editor.until(() =>
    editor.of('tool_call_update').some((each) => each.status === 'in_progress'),
  );
  const second = editor.prompt('and then');
  await editor.cancel();
  assert.deepEqual(await first, { stopReason: 'cancelled' });
  assert.deepEqual(await second, { stopReason: 'cancelled' });
  assert.equal(editor.of('tool_call_update').at(-1)?.status, 'failed');
  assert.deepEqual(await editor.prompt('once more'), { stopReason: 'end_turn' });
  assert.equal(editor.text, 'Again.');
});

test('canceling the request of a prompt cancels its turn', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'date' } };
  const editor = editorIn(t, await startLive(t, { script: [[{ call }]] }));
  const { sessionId } = await editor.open();
  const canceling = new AbortController();
  const ended = editor.connection.agent.request(
    methods.agent.session.prompt,
    { sessionId, prompt: [{ type: 'text', text: 'run it' }] },
    { cancellationSignal: canceling.signal },
  );
  await editor.until(() => editor.asked.length === 1);
  canceling.abort();
  assert.deepEqual(await ended, { stopReason: 'cancelled' });
});

test('when another client cancels the turn, the queued prompts are dropped', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'date' } };
  const started = await startLive(t, { script: [[{ call }]] });
  const editor = editorIn(t, started);
  await editor.open();
  const ended = [editor.prompt('run it'), editor.prompt('and then')];
  await editor.until(() => editor.asked.length === 1);
  await started.live.join({ kind: 'terminal' }).cancel();
  const reasons = (await Promise.all(ended)).map(({ stopReason }) => stopReason);
  assert.deepEqual(reasons, ['cancelled', 'cancelled']);
});

test('when a turn is canceled over plain A2A, the queued prompts stay and end with their turns', async (t) => {
  const started = await startLive(t, { script: [writes('a.txt', 'A'), [{ text: 'Next.' }]] });
  const editor = editorIn(t, started);
  await editor.open();
  const first = editor.prompt('write');
  await editor.until(({ asked }) => asked.length > 0);
  const second = editor.prompt('and then');
  const { live } = started;
  const watching = new Watcher(live.join({ kind: 'a2a' }));
  await watching.until((i) => (i.kind === 'presence' && i.queued.length > 0 ? true : undefined));
  await live.handler.cancelTask({ id: live.taskId });
  assert.equal((await first).stopReason, 'cancelled');
  assert.equal((await second).stopReason, 'end_turn');
  assert.equal(editor.text, 'Next.');
});

test('a client that requests a new session twice joins the live session once', async (t) => {
  const started = await startLive(t, { script: [[{ text: 'Hello.' }]] });
  const editor = editorIn(t, started);
  await editor.initialize();
  const wanted: NewSessionRequest = { cwd: '/', mcpServers: [] };
  const ask = () => editor.connection.agent.request(methods.agent.session.new, wanted);
  const [first, second] = await Promise.all([ask(), ask()]);
  assert.equal(first?.sessionId, second?.sessionId);
  assert.equal(started.live.clients.length, 1);
  editor.sessionId = first.sessionId;
  await editor.prompt('hi');
  assert.equal(editor.text, 'Hello.');
});

test('session/close leaves the live session, and its turn goes on', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Ran.' }]] });
  const editor = editorIn(t, started);
  const { sessionId } = await editor.open();
  const prompted = assert.rejects(editor.prompt('run'), /The session has ended/);
  await editor.until(() => editor.asked.length === 1);
  await editor.connection.agent.request(methods.agent.session.close, { sessionId });
  await prompted;
  assert.deepEqual(started.live.clients, []);
  await assert.rejects(editor.prompt('hi'), { code: -32002 });
  editor.answer = () => allowed;
  await editor.load(sessionId);
  await editor.until(() => editor.text === 'Ran.');
});

test('session/close cancels the turn if the host says that the session is not shared', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const { live } = await startLive(t, { script: [[{ call }]] });
  const { editor } = editorFor(t, {
    join: () => live.join({ kind: 'acp' }),
    isShared: () => live.clients.length > 1,
  });
  const { sessionId } = await editor.open();
  const prompted = editor.prompt('run');
  await editor.until(() => editor.asked.length === 1);
  const { taskId } = live;
  await editor.connection.agent.request(methods.agent.session.close, { sessionId });
  assert.deepEqual(await prompted, { stopReason: 'cancelled' });
  const { status } = await live.handler.getTask({ id: taskId }, {});
  assert.equal(status.state, 'canceled');
});

test('a client with only the role view gets no permission requests and cannot prompt', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Ran.' }]] });
  const { editor: viewer } = editorFor(t, {
    join: () => started.live.join({ kind: 'acp', roles: ['view'] }),
  });
  const editor = editorIn(t, started);
  editor.answer = () => allowed;
  await viewer.open();
  await editor.open();
  await assert.rejects(viewer.prompt('hi'), {
    message: 'This client does not have the role "prompt"',
  });
  await editor.prompt('run');
  await viewer.until(() => viewer.text === 'Ran.');
  assert.deepEqual(viewer.asked, []);
});

test('embedded files reach the model', async (t) => {
  const requests: ModelRequest[] = [];
  const model = scriptedModel([[{ text: 'Seen.' }]], {
    onRequest: (request) => requests.push(request),
  });
  const started = await startLive(t, { model });
  const file = join(started.workspace, 'a b.txt');
  writeFileSync(file, 'linked words');
  const editor = editorIn(t, started);
  const { sessionId } = await editor.open();
  const { href: uri } = pathToFileURL(file);
  await editor.connection.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [
      { type: 'text', text: 'compare ' },
      { type: 'resource_link', uri, name: 'a b.txt' },
      { type: 'text', text: ' with ' },
      { type: 'resource', resource: { uri: 'file:///other/b.txt#L1:2', text: 'embedded words' } },
    ],
  });
  const sent = JSON.stringify(requests[0]?.messages.at(-1));
  assert.match(sent, /linked words/);
  assert.match(sent, /b\.txt#L1:2.*embedded words/);
});

test('canceling a turn withdraws its open question', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'date' } };
  const editor = editorIn(t, await startLive(t, { script: [[{ call }]] }));
  await editor.open();
  const ended = editor.prompt('run it');
  await editor.until(() => editor.asked.length === 1);
  await editor.cancel();
  assert.deepEqual(await ended, { stopReason: 'cancelled' });
  await editor.until(() => editor.withdrawn.length === 1);
});

test('prompts sent at the same time run as consecutive turns', async (t) => {
  const script = [[{ text: 'One.' }], [{ text: 'Two.' }], [{ text: 'Three.' }]];
  const editor = editorIn(t, await startLive(t, { script }));
  await editor.open();
  const ended = await Promise.all(['1', '2', '3'].map((text) => editor.prompt(text)));
  assert.ok(ended.every(({ stopReason }) => stopReason === 'end_turn'));
  assert.equal(editor.text, 'One.Two.Three.');
});

test('a slash command is a prompt like any other', async (t) => {
  const editor = editorIn(t, await startLive(t));
  await editor.open();
  assert.deepEqual(await editor.prompt('/help'), { stopReason: 'end_turn' });
  assert.match(editor.text, /\/approval/);
});

test('the mode is set for all clients, without a reply; an invalid mode is refused', async (t) => {
  const started = await startLive(t);
  const [one, other] = [editorIn(t, started), editorIn(t, started)];
  await Promise.all([one.open(), other.open()]);
  const { agent } = one.connection;
  const set = (modeId: string) =>
    agent.request(methods.agent.session.setMode, { sessionId: one.sessionId, modeId });
  await set('plan');
  await other.until(() => other.of('current_mode_update').length === 1);
  assert.equal(other.of('current_mode_update')[0]?.currentModeId, 'plan');
  assert.equal(one.text, '');
  await assert.rejects(set('yolo'), { code: -32602, message: /yolo is not allowed here/ });
  await assert.rejects(set('nonsense'), { code: -32602, message: /unknown mode nonsense/ });
});

test('prompts of other clients carry their names', async (t) => {
  const started = await startLive(t, { script: [[{ text: 'Hello, phone.' }]] });
  const editor = editorIn(t, started);
  await editor.open();
  await started.live.join({ kind: 'a2a', name: 'phone' }).prompt('hi');
  await editor.until(() => editor.text === 'Hello, phone.');
  assert.deepEqual(editor.heard, ['[phone] hi']);
  assert.deepEqual(editor.of('user_message_chunk')[0]?._meta, {
    'parley.source': { client: 'a2a-2', name: 'phone' },
  });
});

test('a failed turn is reported to its client, and the next turn works', async (t) => {
  const script = [[{ error: { status: 400, message: 'secret cause' } }], [{ text: 'Fine.' }]];
  const editor = editorIn(t, await startLive(t, { script }));
  await editor.open();
  await assert.rejects(editor.prompt('go'), (error: Error) => {
    assert.match(error.message, /The model gave no answer\. Correlation id: /);
    assert.doesNotMatch(JSON.stringify(error), /secret/);
    return true;
  });
  assert.deepEqual(await editor.prompt('again'), { stopReason: 'end_turn' });
});

test('a turn with too many model calls ends with max_turn_requests', async (t) => {
  const call = { name: 'list_directory', args: {} };
  const script = Array.from({ length: 101 }, () => [{ call }]);
  const editor = editorIn(t, await startLive(t, { script }));
  await editor.open();
  assert.deepEqual(await editor.prompt('go round'), { stopReason: 'max_turn_requests' });
});

test('session/load sends the history before its response', async (t) => {
  const call = { name: 'write_file', args: { path: 'a.txt', content: 'a' } };
  const script = [[{ text: 'Hello.' }], [{ call }], [{ text: 'Written.' }]];
  const started = await startLive(t, { script });
  const [first, late] = [editorIn(t, started), editorIn(t, started)];
  first.answer = () => allowed;
  await first.open();
  await first.prompt('hi');
  await first.prompt('write');
  await late.initialize();
  const { modes } = await late.load(first.sessionId);
  assert.equal(modes?.currentModeId, 'ask');
  assert.equal(late.text, 'Hello.Written.');
  assert.deepEqual(late.heard, ['hi', 'write'], 'zed has said this, and this is zed');
  assert.deepEqual(late.asked, [], 'what is settled is not asked');
  assert.equal(
    outline(
      late.updates.filter(({ sessionUpdate }) => sessionUpdate !== 'available_commands_update'),
    ),
    'user_message_chunk, agent_message_chunk, user_message_chunk, tool_call pending, tool_call_update in_progress, tool_call_update completed, agent_message_chunk',
  );
});

test('the history includes the tasks before a canceled turn', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const script = [
    [{ text: 'Hello. ' }, { delayMs: 150 }, { text: 'And more.' }],
    [{ text: 'I run it.' }, { call }],
    [{ text: 'Here again.' }],
  ];
  const started = await startLive(t, { script });
  const first = editorIn(t, started);
  await first.open();
  await first.prompt('greet');
  const running = first.prompt('run');
  await first.until(() => first.asked.length === 1);
  await first.cancel();
  assert.deepEqual(await running, { stopReason: 'cancelled' });
  await first.prompt('back?');
  const late = editorIn(t, started);
  await late.initialize('other');
  await late.load(started.live.contextId);
  assert.deepEqual(late.heard, ['[zed] greet', '[zed] run', '[zed] back?']);
  assert.equal(late.text, 'Hello. And more.I run it.Here again.');
  assert.deepEqual(
    [...late.of('tool_call'), ...late.of('tool_call_update')].map(({ status }) => status),
    ['pending', 'failed'],
  );
});

test('a client that joins while a call waits is asked too', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Ran.' }]] });
  const [first, late, later] = [editorIn(t, started), editorIn(t, started), editorIn(t, started)];
  await first.open();
  const ended = first.prompt('run');
  await first.until(() => first.asked.length === 1);
  late.answer = () => new Promise(() => {});
  await late.open();
  await late.until(() => late.asked.length === 1);
  later.answer = () => allowed;
  await later.initialize();
  await later.connection.agent.request(methods.agent.session.resume, {
    sessionId: first.sessionId,
    cwd: '/',
  });
  assert.deepEqual(await ended, { stopReason: 'end_turn' });
  assert.equal(outline(later.updates).split(', ').includes('user_message_chunk'), false);
});

test('an unknown session cannot be loaded or prompted', async (t) => {
  const editor = editorIn(t, await startLive(t));
  await editor.initialize();
  await assert.rejects(editor.load('nowhere'), { code: -32002 });
  await assert.rejects(editor.prompt('hi'), { code: -32002 });
});

test('the session continues when a client disconnects', async (t) => {
  const call = { name: 'run_shell_command', args: { command: 'echo hi' } };
  const started = await startLive(t, { script: [[{ call }], [{ text: 'Ran.' }]] });
  const [gone, stays] = [editorIn(t, started), editorIn(t, started)];
  await Promise.all([gone.open(), stays.open()]);
  gone.prompt('run').catch(() => {});
  await Promise.all([gone, stays].map((editor) => editor.until(() => editor.asked.length === 1)));
  gone.connection.close();
  stays.answer = () => allowed;
  const joined = editorIn(t, started);
  joined.answer = () => allowed;
  await joined.open();
  await stays.until(() => stays.text === 'Ran.');
  assert.deepEqual(
    started.live.clients.map(({ kind }) => kind),
    ['acp', 'acp'],
  );
});
