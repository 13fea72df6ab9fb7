/** A helper of the agent, and questions that the agent asks in its own words. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import { callIn, confirmation, outline, rpc } from './support.ts';
import { heard } from './talk.ts';

const job = calls('task', { prompt: 'Make two files.', name: 'files' });

test('a helper asks in its own name, goes on with the answers, and reports', async (t) => {
  const { at, say, answer, onlyWaiting, requests } = await talk(t, [
    job,
    shell('touch one'),
    shell('touch two'),
    [{ text: 'Both files are there.' }],
    done,
  ]);
  await say('delegate');
  const first = onlyWaiting();
  assert.deepEqual([first.tool_name, first.agent], ['task', 'helper']);
  assert.equal(first.confirmation_request?.execute_details?.command, 'touch one');
  const second = await answer('proceed_once');
  assert.equal(outline(second.at(-1)!), 'STATE_CHANGE input-required final');
  assert.ok(existsSync(at('one')) && !existsSync(at('two')));
  assert.equal(onlyWaiting().confirmation_request?.execute_details?.command, 'touch two');
  assert.notEqual(onlyWaiting().correlationId, first.correlationId);
  const last = await answer('proceed_once');
  assert.ok(existsSync(at('two')));
  assert.equal(lastCall(last).status, 'SUCCEEDED');
  assert.match(JSON.stringify(lastCall(last).output), /Both files are there\./);
  assert.match(heard(requests.at(-1)), /Both files are there\./);
  assert.ok(!heard(requests[1]).includes('delegate'), 'it has a context of its own');
});

test('what a helper is refused it hears itself, and it reports that', async (t) => {
  const { seen, at, say, answer, requests } = await talk(t, [
    job,
    shell('touch one'),
    [{ text: 'I was not allowed to.' }],
    done,
  ]);
  await say('delegate');
  const last = await answer('cancel');
  assert.equal(existsSync(at('one')), false);
  assert.match(heard(requests[2]), /the person declined this call/);
  assert.equal(lastCall(last).status, 'SUCCEEDED', 'the job itself was done');
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
  assert.match(error?.message ?? '', /correlationId/);
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
  assert.equal(seen.lifeOf('task'), 'PENDING EXECUTING PENDING EXECUTING FAILED');
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
    ['red', 'blue', 'cancel'],
  );
  const last = await answer('blue');
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
