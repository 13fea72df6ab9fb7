/** What a confirmation says is done or refused, never ignored. And a question's options cannot be mistaken. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { textOf } from '../../src/protocol/index.ts';
import { RawClient } from '../live/raw-client.ts';
import { serveSession } from '../live/support.ts';
import { post, say } from './flat-support.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  sendPlainly,
  startCoder,
  stream,
  userMessage,
} from './support.ts';
import { heard, turnOf, writes } from './talk.ts';
import { WIRES } from './wires.ts';

const done: ScriptedResponse = [{ text: 'Done.' }];
const shell: ScriptedResponse = [
  { call: { name: 'run_shell_command', args: { command: 'touch ran.txt' } } },
];
const other = { new_content: 'what nobody was shown\n' };

/** Begins a turn whose calls wait for an answer. */
async function asked(t: TestContext, script: readonly ScriptedResponse[]) {
  const requests: ModelRequest[] = [];
  const model = scriptedModel(script, { onRequest: (request) => requests.push(request) });
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { model });
  const events = await stream(url, userMessage('go'));
  const waiting = events.map(callIn).filter((call) => call?.confirmation_request !== undefined);
  const last = events.at(-1);
  assert.ok(last?.kind === 'status-update' && waiting[0]);
  const { tool_call_id } = waiting[0];
  const at = (file: string) => join(place.workspace, file);
  return { url, at, requests, taskId: last.taskId, tool_call_id, call: waiting[0], waiting };
}

/** Each confirmation is refused on each wire, and the call still waits. */
async function allRefused(
  { url, taskId, tool_call_id }: Awaited<ReturnType<typeof asked>>,
  cases: readonly [fields: Record<string, unknown>, reason: RegExp][],
) {
  for (const [fields, reason] of cases) {
    const data = { tool_call_id, ...fields };
    for (const [wire, send] of Object.entries(WIRES)) {
      const { error = '', code, body } = await send(url, confirmation(taskId, data));
      assert.match(error, reason, `${wire} ${JSON.stringify(fields)} ${body}`);
      assert.ok(code === -32602 || code === 400, `${wire} ${code}`);
    }
  }
  const { result } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(result?.status.state, 'input-required');
}

test('new content counts only with the option that offers a change', async (t) => {
  const write = await asked(t, [writes('a.txt', 'as shown\n'), done]);
  const nested = { modified_details: { file_details: other } };
  await allRefused(write, [
    [{ selected_option_id: 'proceed_once', file_details: other }, /only with the option "modify"/],
    [{ selected_option_id: 'proceed_always', file_details: other }, /only with the option/],
    [{ selected_option_id: 'cancel', file_details: other }, /only with the option/],
    [{ selected_option_id: 'proceed_once', ...nested }, /only with the option/],
    [{ selected_option_id: 'modify' }, /file_details is required/],
  ]);
  const yes = { tool_call_id: write.tool_call_id, selected_option_id: 'proceed_once' };
  await stream(write.url, confirmation(write.taskId, yes));
  assert.equal(readFileSync(write.at('a.txt'), 'utf8'), 'as shown\n');
});

test('new content is refused where no change was offered', async (t) => {
  const run = await asked(t, [shell, done]);
  await allRefused(run, [
    [{ selected_option_id: 'modify', file_details: other }, /must be one of/],
    [{ selected_option_id: 'proceed_once', file_details: other }, /only with the option/],
    [
      { selected_option_id: 'proceed_once', modified_details: { file_details: other } },
      /only with the option/,
    ],
    [
      { selected_option_id: 'proceed_once', modified_details: { command: 'touch other.txt' } },
      /modified_details/,
    ],
  ]);
  assert.ok(!existsSync(run.at('ran.txt')));
});

test('modified_details counts as the specification nests it', async (t) => {
  const { url, at, taskId, tool_call_id } = await asked(t, [writes('a.txt', 'shown\n'), done]);
  const file_details = { new_content: 'changed by the person\n' };
  const data = { tool_call_id, selected_option_id: 'modify', modified_details: { file_details } };
  const contradiction = { ...data, file_details: other };
  const { error } = await rpc(url, 'message/send', {
    message: confirmation(taskId, contradiction),
  });
  assert.equal(error?.code, -32602);
  assert.match(error.message, /modified_details: contradicts file_details/);
  await stream(url, confirmation(taskId, data));
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'changed by the person\n');
});

test('a confirmation with a misspelt or unknown field is refused', async (t) => {
  const write = await asked(t, [writes('a.txt', 'shown\n')]);
  const yes = { selected_option_id: 'proceed_once' };
  await allRefused(write, [
    [{ ...yes, fileDetails: other }, /unknown field fileDetails; the fields are/],
    [{ ...yes, modifiedDetails: { fileDetails: other } }, /unknown field modifiedDetails/],
    [{ ...yes, workspace_path: '/tmp' }, /unknown field workspace_path/],
    [{ ...yes, new_content: 'x' }, /unknown field new_content/],
    [{ selectedOptionId: 'proceed_once' }, /unknown field selectedOptionId/],
    [{ option: 'proceed_once' }, /unknown field option/],
    [{}, /selected_option_id/],
    [{ ...yes, answer: 'yes' }, /answer: allowed only with the option "answer"/],
    [{ ...yes, correlationId: 'another' }, /correlationId/],
  ]);
  const { url, taskId, tool_call_id } = write;
  const no = { tool_call_id, selected_option_id: 'cancel' };
  const parts = [no, { tool_call_id, ...yes }].map((data) => ({ kind: 'data' as const, data }));
  for (const [wire, send] of Object.entries(WIRES)) {
    const twice = await send(url, userMessage(parts, { taskId }));
    assert.match(twice.error ?? '', /two answers to the call/, wire);
    const nowhere = await send(url, userMessage(parts.slice(1)));
    assert.match(nowhere.error ?? '', /message\.taskId: required/, wire);
  }
  const flat = { kind: 'tool-call-confirmation', toolCallId: tool_call_id, approved: true };
  for (const [fields, reason] of [
    [{ newContent: 'x' }, /only with the option "modify"/],
    [{ file_details: other }, /file_details/],
    [{ optionID: 'modify' }, /optionID/],
  ] as const) {
    const body = { taskId, userMessage: { ...flat, ...fields } };
    const reply = await post(`${url}/message/stream`, body);
    assert.equal(reply.status, 400, JSON.stringify(reply.body));
    assert.match((reply.body as { error: string }).error, reason);
  }
  const { result } = await rpc(url, 'tasks/get', { id: taskId });
  assert.equal(result?.status.state, 'input-required');
});

test('the flat API writes the content that the person has changed', async (t) => {
  const { url, at, taskId, tool_call_id } = await asked(t, [writes('a.txt', 'shown\n'), done]);
  const flat = { kind: 'tool-call-confirmation', toolCallId: tool_call_id, approved: true };
  const userMessage = { ...flat, optionId: 'modify', newContent: 'changed\n' };
  await say(url, { taskId, userMessage });
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'changed\n');
});

test('a plain yes approves several calls only if its sender was shown them', async (t) => {
  const several = [...writes('ran.txt', 'a'), ...writes('b.txt', 'b')];
  const { url, at, taskId } = await asked(t, [several, done, several, done]);
  const blind = await sendPlainly(url, userMessage('yes', { taskId }));
  assert.equal(blind.error?.code, -32602);
  assert.match(blind.error.message, /were not shown to this client/);
  assert.ok(!existsSync(at('ran.txt')));
  assert.equal((await sendPlainly(url, userMessage('no', { taskId }))).error, undefined);
  assert.ok(!existsSync(at('ran.txt')));

  const own = await sendPlainly(url, userMessage('go'));
  assert.match(
    textOf(own.result?.status.message?.parts ?? []),
    /ran\.txt[^]*b\.txt[^]*May I do all/,
  );
  const yes = await sendPlainly(url, userMessage('yes', { taskId: own.result?.id ?? '' }));
  assert.equal(yes.result?.status.state, 'completed');
  assert.ok(existsSync(at('ran.txt')));
});

/** Texts that are ids of options, a text twice, a blank one, and a long one. */
const LONG = 'x'.repeat(200);
const TEXTS = ['cancel', 'modify', 'answer', 'proceed_once', 'modify', '  ', 'option_1', LONG];
const question: ScriptedResponse = [
  { call: { name: 'ask_user', args: { question: 'What now?', options: TEXTS } } },
];

test("a question's options have ids of their own, whatever the model calls them", async (t) => {
  const { call } = await asked(t, [question]);
  assert.deepEqual(
    call.confirmation_request?.options.map(({ id, name }) => [id, name]),
    [
      ['option_1', 'cancel'],
      ['option_2', 'modify'],
      ['option_3', 'answer'],
      ['option_4', 'proceed_once'],
      ['option_5', 'option_1'],
      ['option_6', LONG],
      ['answer', 'Answer in your own words'],
      ['cancel', 'Do not answer'],
    ],
  );
});

for (const [id, value] of [
  ['option_1', 'cancel'],
  ['option_2', 'modify'],
  ['option_3', 'answer'],
  ['option_5', 'option_1'],
] as const) {
  test(`the model gets the text of ${id}, which is "${value}"`, async (t) => {
    const { url, taskId, tool_call_id, requests } = await asked(t, [question, done]);
    const data = { tool_call_id, selected_option_id: id };
    const { error } = await rpc(url, 'message/send', { message: confirmation(taskId, data) });
    assert.equal(error, undefined);
    assert.match(heard(requests[1]), new RegExp(`"answer":"${value}"`));
  });
}

const GREEN = /"answer":"a kind of green"/;
const words = 'a kind of green';

test('a question with options is answered in words, in each form that A2A has', async (t) => {
  const forms = (tool_call_id: string) => [
    userMessage(words),
    userMessage([
      { kind: 'data', data: { tool_call_id, selected_option_id: 'answer', answer: words } },
    ]),
    userMessage([
      { kind: 'data', data: { tool_call_id, selected_option_id: 'answer' } },
      { kind: 'text', text: words },
    ]),
  ];
  for (const at of [0, 1, 2]) {
    const { url, taskId, tool_call_id, requests } = await asked(t, [question, done]);
    const empty = { tool_call_id, selected_option_id: 'answer' };
    const refused = await rpc(url, 'message/send', { message: confirmation(taskId, empty) });
    assert.match(refused.error?.message ?? '', /answer: required for the option "answer"/);
    const message = { ...forms(tool_call_id)[at]!, taskId };
    const { error } = await rpc(url, 'message/send', { message });
    assert.equal(error, undefined);
    assert.match(heard(requests[1]), GREEN, `form ${at}`);
  }
});

test('a question with options is answered in words over the flat API', async (t) => {
  const { url, taskId, tool_call_id, requests } = await asked(t, [question, done]);
  const flat = { kind: 'tool-call-confirmation', toolCallId: tool_call_id, approved: true };
  await say(url, { taskId, userMessage: { ...flat, optionId: 'answer', answer: words } });
  assert.match(heard(requests[1]), GREEN);
});

test('a question with options is answered in words over /ws, by a prompt and by a confirmation', async (t) => {
  for (const how of ['prompt', 'confirmation']) {
    const requests: ModelRequest[] = [];
    const script = [question, done];
    const model = scriptedModel(script, { onRequest: (request) => requests.push(request) });
    const { ws } = await serveSession(t, { model });
    const client = new RawClient(t, ws);
    await client.snapshot();
    await client.say('go');
    await client.state('input-required');
    const { tool_call_id } = await client.pending();
    const confirm = { tool_call_id, selected_option_id: 'answer', answer: words };
    const reply =
      how === 'prompt' ? await client.say(words) : await client.ask('session/confirm', confirm);
    assert.equal(reply.error, undefined);
    await client.state('completed');
    assert.match(heard(requests[1]), GREEN, how);
  }
});

test('a reason that comes with an approval reaches the model, too', async (t) => {
  const { url, taskId, tool_call_id, requests } = await asked(t, [shell, done]);
  const data = { tool_call_id, selected_option_id: 'proceed_once', reason: 'but only this once' };
  await stream(url, confirmation(taskId, data));
  assert.match(heard(requests[1]), /but only this once/);
});

test('an answer that is a path counts as the answer, for later answers and for the list of approvals', async (t) => {
  const { url, taskId, tool_call_id, requests } = await asked(t, [question, done]);
  const message = { ...userMessage('/etc/hosts'), taskId };
  assert.equal((await rpc(url, 'message/send', { message })).error, undefined);
  assert.match(heard(requests[1]), /"answer":"\/etc\/hosts"/);
  const data = { tool_call_id, selected_option_id: 'option_1' };
  const late = await rpc(url, 'message/send', { message: confirmation(taskId, data) });
  assert.equal(late.error?.message, 'already resolved by a2a: answer');
  const { text } = turnOf(await stream(url, { ...userMessage('/approvals'), taskId }));
  assert.match(text, /answered by .*: \/etc\/hosts {2}/);
});
