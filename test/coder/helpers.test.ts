/** A helper of the agent, and questions that the agent asks in its own words. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentText } from '../../src/agent/content.ts';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { recentSessions } from '../../src/cli/coder/stored-sessions.ts';
import { eventIn, readTask } from '../../src/protocol/development-tool/index.ts';
import { textOf, type StreamEvent } from '../../src/protocol/index.ts';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import {
  callIn,
  confirmation,
  outline,
  rpc,
  sendPlainly,
  startCoder,
  stream,
  userMessage,
} from './support.ts';
import { heard } from './talk.ts';

const job = calls('task', { prompt: 'Make two files.', name: 'files' });

/** A model with a script for each conversation, which is found by the request that begins it. */
function byRequest(scripts: Readonly<Record<string, readonly ScriptedResponse[]>>): Model {
  const models = new Map(
    Object.entries(scripts).map(([request, script]) => [request, scriptedModel(script)]),
  );
  return {
    name: 'scripted',
    generate(request, signal) {
      const model = models.get(contentText(request.messages[0]));
      assert.ok(model);
      return model.generate(request, signal);
    },
  };
}

const aboutIn = (event: StreamEvent) =>
  event.kind === 'status-update' ? eventIn(event.metadata) : undefined;

function dataIn(event: StreamEvent): unknown {
  const part = event.kind === 'status-update' ? event.status.message?.parts[0] : undefined;
  return part?.kind === 'data' ? part.data : undefined;
}

test('a helper asks about its own calls, goes on with the answers, and reports', async (t) => {
  const { at, say, answer, onlyWaiting, requests, seen } = await talk(t, [
    job,
    shell('touch one'),
    shell('touch two'),
    [{ text: 'Both files are there.' }],
    done,
  ]);
  await say('delegate');
  const first = onlyWaiting();
  const [task] = [...seen.calls.values()];
  assert.deepEqual([task?.tool_name, task?.status], ['task', 'EXECUTING']);
  assert.equal(task?.agent, undefined, 'the job itself is a call of the agent');
  assert.deepEqual(
    [first.tool_name, first.input_parameters, first.agent, first.parentToolCallId],
    ['run_shell_command', { command: 'touch one' }, 'files', task?.tool_call_id],
  );
  assert.equal(first.confirmation_request?.execute_details?.command, 'touch one');
  const second = await answer('proceed_once');
  assert.equal(outline(second.at(-1)!), 'STATE_CHANGE input-required final');
  assert.equal(seen.lives.get(first.tool_call_id)?.join(' '), 'PENDING EXECUTING SUCCEEDED');
  assert.ok(existsSync(at('one')) && !existsSync(at('two')));
  assert.equal(onlyWaiting().confirmation_request?.execute_details?.command, 'touch two');
  assert.notEqual(onlyWaiting().tool_call_id, first.tool_call_id);
  const last = await answer('proceed_once');
  assert.ok(existsSync(at('two')));
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING SUCCEEDED');
  assert.match(JSON.stringify(lastCall(last).output), /Both files are there\./);
  assert.match(heard(requests.at(-1)), /Both files are there\./);
  assert.ok(!heard(requests[1]).includes('delegate'), 'it has a context of its own');
  assert.ok(
    !heard(requests.at(-1)).includes('touch'),
    'the agent does not see what the helper did',
  );
});

test('each event of a helper has its name and its job, and none of it is text of the answer', async (t) => {
  const { say, seen, url, taskId } = await talk(t, [
    [{ call: { name: 'task', args: { prompt: 'Look around.' } } }],
    [
      { thought: { subject: 'Looking', description: 'Where is it?' } },
      { text: 'I list the folder first.' },
      { call: { name: 'list_directory', args: {} } },
    ],
    [{ text: 'It is empty.' }],
    [{ text: 'All done.' }],
  ]);
  const events = await say('delegate');
  const task = [...seen.calls.values()].find(({ tool_name }) => tool_name === 'task');
  const mark = { agent: 'helper', parentToolCallId: task?.tool_call_id };
  const marked = events.filter((event) => {
    const { agent, parentToolCallId } = aboutIn(event) ?? {};
    return agent === mark.agent && parentToolCallId === mark.parentToolCallId;
  });
  assert.deepEqual(marked.map(outline), [
    'THOUGHT',
    'THOUGHT',
    'TOOL_CALL_UPDATE PENDING',
    'TOOL_CALL_UPDATE EXECUTING',
    'TOOL_CALL_UPDATE SUCCEEDED',
  ]);
  const [thought, words] = marked.map(dataIn);
  assert.deepEqual(thought, { subject: 'Looking', description: 'Where is it?', ...mark });
  const said = 'I list the folder first.';
  assert.deepEqual(words, { subject: said, description: said, ...mark });
  assert.equal(task?.output?.text, 'It is empty.');
  const texts = events.flatMap((event) =>
    event.kind === 'status-update' ? (event.status.message?.parts ?? []) : [],
  );
  assert.equal(textOf(texts), 'All done.');
  const { result } = await rpc(url, 'tasks/get', { id: taskId() });
  const facts = readTask(result!);
  const kept = facts.flatMap((fact) => (fact.kind === 'thought' ? [fact.thought.agent] : []));
  assert.deepEqual(kept, ['helper', 'helper'], 'a client that joins later sees the same');
});

test("a helper's text is the output of its job while it arrives", async (t) => {
  const { say } = await talk(t, [
    job,
    [{ text: 'Both files ' }, { delayMs: 250 }, { text: 'are there.' }],
    done,
  ]);
  const events = await say('delegate');
  const live = events.flatMap((event) => callIn(event)?.live_content ?? []);
  assert.ok(live.length > 0);
  assert.ok(live.every((text) => 'Both files are there.'.startsWith(text)));
});

test('what a helper is refused it hears itself, and it reports that', async (t) => {
  const { seen, at, say, answer, requests } = await talk(t, [
    job,
    shell('touch one'),
    [{ text: 'I was not allowed to.' }],
    done,
  ]);
  await say('delegate');
  await answer('cancel');
  assert.equal(existsSync(at('one')), false);
  assert.match(heard(requests[2]), /this call was declined/);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING CANCELLED');
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING SUCCEEDED', 'the job itself was done');
  assert.match(heard(requests[3]), /I was not allowed to\./);
  assert.deepEqual(seen.ends, ['completed']);
});

test('an approval of one of its calls is none of the next', async (t) => {
  const { say, answer, onlyWaiting, url, taskId } = await talk(t, [
    job,
    shell('touch one'),
    shell('touch two'),
    [{ text: 'Done so far.' }],
    done,
  ]);
  await say('delegate');
  const { correlationId, tool_call_id } = onlyWaiting();
  await answer('proceed_once');
  const late = { tool_call_id, selected_option_id: 'proceed_once', correlationId };
  const { error } = await rpc(url, 'message/send', { message: confirmation(taskId(), late) });
  assert.match(error?.message ?? '', /already resolved/);
});

test('two helpers of one answer work one after the other, because both may write', async (t) => {
  const model = byRequest({
    delegate: [
      [
        { call: { name: 'task', args: { prompt: 'Make one.', name: 'left' } } },
        { call: { name: 'task', args: { prompt: 'Make two.', name: 'right' } } },
      ],
      done,
    ],
    'Make one.': [shell('touch one'), [{ text: 'Not made.' }]],
    'Make two.': [shell('touch two'), [{ text: 'Made.' }]],
  });
  const { at, say, answer, seen } = await talk(t, [], { model });
  await say('delegate');
  const [left, ...others] = seen.waiting;
  assert.deepEqual([left?.agent, others], ['left', []]);
  await answer('cancel', { call: left! });
  const [right] = seen.waiting;
  assert.equal(right?.agent, 'right');
  assert.notEqual(left?.tool_call_id, right?.tool_call_id);
  assert.notEqual(left?.parentToolCallId, right?.parentToolCallId);
  await answer('proceed_once', { call: right });
  assert.ok(!existsSync(at('one')) && existsSync(at('two')));
  assert.deepEqual(seen.ends, ['completed']);
  assert.equal(seen.calls.get(left!.tool_call_id)?.status, 'CANCELLED');
  assert.equal(seen.calls.get(right.tool_call_id)?.status, 'SUCCEEDED');
});

test('several calls of one answer of a helper wait at the same time', async (t) => {
  const { at, say, answer, seen } = await talk(t, [
    job,
    [
      { call: { name: 'write_file', args: { path: 'two', content: '2' } } },
      { call: { name: 'run_shell_command', args: { command: 'touch one' } } },
    ],
    [{ text: 'Made.' }],
    done,
  ]);
  await say('delegate');
  assert.deepEqual(
    seen.waiting.map(({ tool_name, agent }) => `${agent} ${tool_name}`),
    ['files write_file', 'files run_shell_command'],
  );
  const [write, touch] = seen.waiting;
  assert.ok(write?.confirmation_request?.file_edit_details, 'with the real change');
  await answer('proceed_once', { call: touch! });
  await answer('proceed_once', { call: write });
  assert.ok(existsSync(at('one')) && existsSync(at('two')));
  assert.deepEqual(seen.ends, ['completed']);
});

test('a question that a helper asks a person has the name of the helper, and its answer goes to the helper', async (t) => {
  const { say, goOn, onlyWaiting, seen, requests } = await talk(t, [
    job,
    calls('ask_user', { question: 'Which colour?', options: ['red', 'blue'] }),
    [{ text: 'It is green.' }],
    done,
  ]);
  await say('delegate');
  const { tool_name, agent, confirmation_request: request } = onlyWaiting();
  assert.deepEqual([tool_name, agent], ['ask_user', 'files']);
  assert.deepEqual(request?.generic_details, { description: 'Which colour?' });
  await goOn('a kind of green');
  assert.match(heard(requests[2]), /"answer":"a kind of green"/);
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
});

test('after a restart, a helper goes on with the answer to its own call', async (t) => {
  const { place, say, onlyWaiting, stop, taskId, seen } = await talk(t, [job, shell('touch one')]);
  await say('delegate');
  const { tool_call_id, correlationId } = onlyWaiting();
  await stop();
  const script = [[{ text: 'Made.' }], done];
  const { url } = await startCoder(t, place, { script });
  const data = { tool_call_id, selected_option_id: 'proceed_once', correlationId };
  seen.take(await stream(url, confirmation(taskId(), data)));
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
});

test('a helper that waits is not a session that a person can resume', async (t) => {
  const { place, say } = await talk(t, [job, shell('touch one')]);
  await say('delegate');
  const sessions = sqliteSessions(join(place.home, 'sessions.db'));
  t.after(() => sessions.close());
  const titles = (await recentSessions(sessions)).map(({ title }) => title);
  assert.deepEqual(titles, [`delegate in ${place.workspace}`]);
});

test("a client without the extension is asked about the real call, and gets only the agent's answer", async (t) => {
  const { url } = await talk(t, [
    job,
    [
      { text: 'The helper speaks.' },
      { call: { name: 'run_shell_command', args: { command: 'touch one' } } },
    ],
    [{ text: 'The helper reports.' }],
    [{ text: 'All done.' }],
  ]);
  const plain = async (text: string, more: object = {}) =>
    (await sendPlainly(url, userMessage(text, more))).result!;
  const asked = await plain('delegate');
  assert.equal(asked.status.state, 'input-required');
  assert.match(textOf(asked.status.message!.parts), /touch one/);
  const last = await plain('yes', { taskId: asked.id });
  assert.equal(last.status.state, 'completed');
  const messages = [...(last.history ?? []), ...(last.artifacts ?? [])];
  const texts = messages.map(({ parts }) => textOf(parts));
  assert.ok(texts.includes('All done.'));
  assert.ok(!texts.some((text) => text.includes('The helper')));
});

test('what a helper is allowed for the session, the agent is allowed too', async (t) => {
  const { at, say, answer, seen } = await talk(t, [
    job,
    calls('write_file', { path: 'a.txt', content: 'a' }),
    [{ text: 'Written.' }],
    calls('write_file', { path: 'b.txt', content: 'b' }),
    done,
  ]);
  await say('delegate');
  await answer('proceed_always_tool');
  assert.deepEqual(seen.ends, ['completed']);
  assert.equal(readFileSync(at('b.txt'), 'utf8'), 'b');
});

test('a helper that fails after it was refused something has failed; nobody has cancelled it', async (t) => {
  const { say, answer, seen } = await talk(t, [
    job,
    shell('touch one'),
    [{ error: { status: 400, message: 'no more' } }],
    done,
  ]);
  await say('delegate');
  const events = await answer('cancel');
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING FAILED');
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING CANCELLED');
  assert.match(lastCall(events).error?.message ?? '', /helper failed/);
});

const question = calls('ask_user', { question: 'Which colour?', options: ['red', 'blue'] });

test('a question of the model has its options, and the one that is chosen is the answer', async (t) => {
  const { seen, say, answer, onlyWaiting, requests } = await talk(t, [question, done]);
  await say('ask me');
  const request = onlyWaiting().confirmation_request!;
  assert.deepEqual(request.generic_details, { description: 'Which colour?' });
  assert.deepEqual(
    request.options.map(({ id }) => id),
    ['option_1', 'option_2', 'answer', 'cancel'],
  );
  const last = await answer('option_2');
  assert.equal(lastCall(last).output?.text, 'blue');
  assert.match(heard(requests[1]), /"answer":"blue"/);
  assert.deepEqual(seen.ends, ['completed']);
});

test('a question of the model is answered in free words too', async (t) => {
  const { say, goOn, requests } = await talk(t, [question, done]);
  await say('ask me');
  const events = await goOn('a kind of green');
  assert.equal(lastCall(events).status, 'SUCCEEDED');
  assert.match(heard(requests[1]), /"answer":"a kind of green"/);
});

test('a question that nobody wants to answer is closed, and the model goes on', async (t) => {
  const { say, answer, requests } = await talk(t, [question, done]);
  await say('ask me');
  const events = await answer('cancel');
  assert.equal(outline(events.at(-1)!), 'STATE_CHANGE completed final');
  assert.match(heard(requests[1]), /gave no answer/);
  assert.equal(
    events.map(callIn).some((call) => call?.status === 'FAILED'),
    false,
  );
});

test('why the model of a helper failed reaches the person who runs the program, and no client', async (t) => {
  const notices: string[] = [];
  const { say, requests } = await talk(
    t,
    [job, [{ error: { status: 401, message: 'the key abc is wrong' } }], done],
    { notify: ({ text }) => notices.push(text) },
  );
  const events = await say('delegate');
  assert.equal(lastCall(events).status, 'FAILED');
  assert.equal(lastCall(events).error?.message, 'helper failed: The model gave no answer.');
  assert.doesNotMatch(JSON.stringify(events), /key abc/);
  assert.doesNotMatch(heard(requests.at(-1)), /key abc/);
  assert.deepEqual(notices.length, 1);
  assert.match(notices[0] ?? '', /^A helper failed: the key abc is wrong\./);
});
