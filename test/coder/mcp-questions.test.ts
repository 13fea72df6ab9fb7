/** What MCP servers ask the person and the model during a call, as the clients of the coding agent see it. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { createAskingServer } from '../e2e/mcp-asking-server.ts';
import { listenMcp } from '../e2e/mcp-sessions.ts';
import { calls, done, lastCall, talk } from './checked-talk.ts';
import {
  confirmation,
  makePlace,
  outline,
  rpc,
  sendPlainly,
  startCoder,
  stream,
  userMessage,
} from './support.ts';
import { heard, settings } from './talk.ts';

const notes = new EventEmitter();
const http = await listenMcp({ create: () => createAskingServer((line) => notes.emit(line)) });
after(() => {
  http.closeAllConnections();
  http.close();
});

const asked = 'STATE_CHANGE input-required final';
const completed = 'STATE_CHANGE completed final';
const end = (events: Parameters<typeof outline>[0][]): string => outline(events.at(-1)!);

/** A coding agent with the server `tools`, whose tools are allowed, in the given mode. */
function withServer(
  t: TestContext,
  script: readonly ScriptedResponse[],
  rules: object[] = [],
  fields: object = {},
) {
  const place = makePlace(t);
  const { port } = http.address() as AddressInfo;
  const allowed = { tool: 'tools__*', decision: 'allow' };
  settings(place, {
    mcpServers: { tools: { url: `http://127.0.0.1:${port}/mcp`, ...fields } },
    policy: [allowed, ...rules],
  });
  return talk(t, script, { place });
}

test("a server's question is a call of its own, and its answer goes to the server", async (t) => {
  const script = [calls('tools__form', { name: 'an argument' }), done];
  const { say, onlyWaiting, goOn, seen, requests } = await withServer(t, script);
  assert.equal(end(await say('fill in the form')), asked);
  const call = onlyWaiting();
  const outer = [...seen.calls.values()].find(({ tool_name }) => tool_name === 'tools__form')!;
  assert.equal(outer.status, 'EXECUTING');
  assert.equal(call.tool_name, 'elicitation');
  assert.equal(call.parentToolCallId, outer.tool_call_id);
  assert.equal(call.agent, 'tools');
  assert.match(call.description ?? '', /^The MCP server tools asks: Who are you\?\n- name: /);
  assert.deepEqual(
    call.confirmation_request?.options.map(({ name }) => name),
    ['Decline', 'Answer in your own words', 'Do not answer'],
  );
  assert.equal(end(await goOn('name: Ann, age: 700')), asked);
  assert.match(onlyWaiting().description ?? '', /^age must be 1 to 120/);
  assert.equal(end(await goOn('name: Ann, age: 7')), completed);
  assert.match(heard(requests[1]), /accept.*Ann/);
  assert.equal(seen.lifeOf('tools__form'), 'PENDING EXECUTING SUCCEEDED');
});

test('an option answers the question, and "Do not answer" cancels it', async (t) => {
  const choice = calls('tools__choice', {});
  const { say, answer, seen } = await withServer(t, [choice, done, choice, done]);
  await say('choose');
  const chosen = await answer('option_2');
  assert.equal(end(chosen), completed);
  assert.deepEqual(lastCall(chosen).output, {
    text: '{"action":"accept","content":{"branch":"d"}}',
  });
  assert.equal(seen.lifeOf('elicitation'), 'PENDING SUCCEEDED');
  await say('choose again');
  assert.deepEqual(lastCall(await answer('cancel')).output, { text: '{"action":"cancel"}' });
});

test('a client without the extension reads the question and answers it with a text', async (t) => {
  const { url } = await withServer(t, [calls('tools__choice', {}), done]);
  const first = await sendPlainly(url, userMessage('choose'));
  const { id, status } = first.result as {
    id: string;
    status: { state: string; message?: object };
  };
  assert.equal(status.state, 'input-required');
  assert.match(JSON.stringify(status.message), /The MCP server tools asks: Which branch\?/);
  assert.match(JSON.stringify(status.message), /\(main, develop, Decline\)/);
  const second = await sendPlainly(url, userMessage('main', { taskId: id }));
  assert.equal((second.result as { status: { state: string } }).status.state, 'completed');
});

test("the question of a server whose tool a helper calls is the helper's", async (t) => {
  const script = [
    calls('task', { prompt: 'choose a branch', name: 'chooser' }),
    calls('tools__choice', {}),
    [{ text: 'It is develop.' }],
    done,
  ];
  const { say, answer, onlyWaiting, seen, requests } = await withServer(t, script);
  assert.equal(end(await say('choose')), asked);
  const { parentToolCallId: parent = '', agent } = onlyWaiting();
  assert.equal(seen.calls.get(parent)?.tool_name, 'tools__choice');
  assert.equal(seen.calls.get(parent)?.agent, 'chooser');
  assert.equal(agent, 'tools');
  assert.equal(end(await answer('option_2')), completed);
  assert.match(heard(requests[2]), /accept.*branch/);
});

test('after a restart the question still waits, and its answer finds a call whose outcome is unknown', async (t) => {
  const { say, onlyWaiting, seen, stop, place, taskId } = await withServer(t, [
    calls('tools__choice', {}),
  ]);
  await say('choose');
  const { tool_call_id } = onlyWaiting();
  await stop();
  const { url } = await startCoder(t, place, { script: [done] });
  const said = { tool_call_id, selected_option_id: 'option_1' };
  const events = seen.take(await stream(url, confirmation(taskId(), said)));
  assert.equal(end(events), completed);
  assert.equal(lastCall(events).error?.type, 'outcome_unknown');
  assert.equal(seen.lifeOf('tools__choice'), 'PENDING EXECUTING FAILED');
});

test('a stopped turn cancels the call that waits for the answer', async (t) => {
  const { say, url, taskId, seen } = await withServer(t, [calls('tools__form', {}), done]);
  await say('fill in the form');
  const cancelled = once(notes, 'form cancelled');
  const { result } = await rpc(url, 'tasks/cancel', { id: taskId() });
  assert.equal((result as { status: { state: string } }).status.state, 'canceled');
  await cancelled;
  assert.equal(seen.waiting.length, 1);
});

test('a server uses the model only with approval, and its tokens count', async (t) => {
  const script = [calls('tools__samples', { times: 1 }), [{ text: 'Hi.' }], done];
  const { say, goOn, answer, onlyWaiting, seen, requests } = await withServer(t, script);
  assert.equal(end(await say('sample')), asked);
  assert.equal(requests.length, 1);
  const call = onlyWaiting();
  assert.equal(call.tool_name, 'mcp_sampling__tools');
  assert.match(
    call.description ?? '',
    /The MCP server tools asks the model to answer .*at most 4096 tokens/,
  );
  assert.deepEqual(call.input_parameters['messages'], [{ role: 'user', text: 'Hello?' }]);
  assert.deepEqual(
    call.confirmation_request?.options.map(({ id }) => id),
    ['proceed_once', 'proceed_always_tool', 'cancel'],
  );
  const events = await answer('proceed_once');
  assert.equal(end(events), completed);
  assert.equal(requests[1]?.system, 'Be short.');
  assert.match(heard(requests[2]), /Hi\./);
  assert.equal(seen.lifeOf('mcp_sampling__tools'), 'PENDING EXECUTING SUCCEEDED');
  assert.match(JSON.stringify(await goOn('/stats')), /scripted: 3 requests/);
});

test('a person declines that a server uses the model, and a rule does so without asking', async (t) => {
  const samples = calls('tools__samples', { times: 1 });
  const first = await withServer(t, [samples, done]);
  await first.say('sample');
  const declined = await first.answer('cancel');
  assert.match(lastCall(declined).output?.text ?? '', /the user declined the request/);
  assert.equal(first.requests.length, 2);
  const rule = { tool: 'mcp_sampling__tools', decision: 'deny' };
  const second = await withServer(t, [samples, done], [rule]);
  const events = await second.say('sample');
  assert.equal(end(events), completed);
  assert.match(lastCall(events).output?.text ?? '', /the request is not allowed/);
  assert.equal(second.requests.length, 2);
});

test('neither the server nor a client learns why the model failed', async (t) => {
  const failure = [{ error: { status: 401, message: 'the key sk-1 is invalid' } }];
  const script = [calls('tools__samples', { times: 1 }), failure, done];
  const rule = { tool: 'mcp_sampling__tools', decision: 'allow' };
  const { say, seen } = await withServer(t, script, [rule]);
  const events = await say('sample');
  assert.match(lastCall(events).output?.text ?? '', /the model gave no answer/);
  assert.equal(seen.lifeOf('mcp_sampling__tools'), 'PENDING EXECUTING FAILED');
  assert.doesNotMatch(JSON.stringify(events), /sk-1/);
});

test('a server in the settings learns the folder of the workspace, unless they say no', async (t) => {
  const roots = calls('tools__roots', {});
  const { say, place } = await withServer(t, [roots, done]);
  const { output } = lastCall(await say('roots'));
  assert.ok(output?.text?.includes(`"uri":"file://${place.workspace}"`), output?.text);
  const without = await withServer(t, [roots, done], [], { roots: false });
  assert.match(lastCall(await without.say('roots')).error?.message ?? '', /Method not found/);
});

test('a rule lets a server use the model without asking, and everybody sees it', async (t) => {
  const script = [calls('tools__samples', { times: 1 }), [{ text: 'Hi.' }], done];
  const rule = { tool: 'mcp_sampling__tools', decision: 'allow' };
  const { say, seen, requests } = await withServer(t, script, [rule]);
  assert.equal(end(await say('sample')), completed);
  assert.equal(requests.length, 3);
  assert.equal(seen.lifeOf('mcp_sampling__tools'), 'PENDING EXECUTING SUCCEEDED');
});
