/** What a client sees of the agent's work, tool by tool; every event is held against the specification. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import { callIn, confirmation, outline, stream } from './support.ts';
import { heard, writes } from './talk.ts';

test('edit shows the file before and after, and what came of it', async (t) => {
  const { seen, at, say, answer, onlyWaiting } = await talk(t, [
    calls('read_file', { path: 'a.txt' }),
    calls('edit', { path: 'a.txt', old: 'two', new: 'zwei' }),
    done,
  ]);
  writeFileSync(at('a.txt'), 'one\ntwo\n');
  await say('translate');
  assert.equal(seen.lifeOf('read_file'), 'PENDING EXECUTING SUCCEEDED');
  const { file_edit_details: diff } = onlyWaiting().confirmation_request!;
  assert.equal(diff?.file_path, at('a.txt'));
  assert.deepEqual([diff.old_content, diff.new_content], ['one\ntwo\n', 'one\nzwei\n']);
  const last = await answer('proceed_once');
  assert.equal(lastCall(last).output?.diff?.new_content, 'one\nzwei\n');
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'one\nzwei\n');
  assert.equal(seen.lifeOf('edit'), 'PENDING EXECUTING SUCCEEDED');
  assert.deepEqual(seen.ends, ['completed']);
});

test('a command shows its output as it is printed, bounded, and its end', async (t) => {
  const line = 'x'.repeat(99);
  const command = `for i in $(seq 1 300); do echo "$i ${line}"; sleep 0.005; done`;
  const { seen, say, answer, onlyWaiting, place } = await talk(t, [shell(command), done]);
  await say('run it');
  assert.deepEqual(onlyWaiting().confirmation_request?.execute_details, {
    command,
    working_directory: place.workspace,
  });
  const began = performance.now();
  const running = await answer('proceed_once');
  const seconds = (performance.now() - began) / 1000;
  const live = running
    .map(callIn)
    .filter((call) => call?.status === 'EXECUTING')
    .map((call) => call!.live_content)
    .filter((text) => text !== undefined);
  assert.ok(live.length >= 3, `${live.length} updates`);
  assert.ok(live.length < 10 * seconds, `${live.length} updates in ${seconds} s`);
  const numbers = live.map((text) => Number(/(\d+) x+\n$/.exec(text)?.[1]));
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
    'it grows',
  );
  for (const text of live) assert.ok(Buffer.byteLength(text) <= 8192);
  assert.match(lastCall(running).output?.text ?? '', /^1 x+\n2 x[^]*300 x+\n$/);
  assert.equal(seen.lifeOf('run_shell_command'), 'PENDING EXECUTING SUCCEEDED');
});

test('a call that fails says why, and the model goes on from there', async (t) => {
  const { seen, say, requests } = await talk(t, [
    calls('read_file', { path: 'none.txt' }),
    calls('edit', { path: 'none.txt', old: 'a', new: 'b' }),
    calls('dance', {}),
    calls('read_file', { file: 'none.txt' }),
    done,
  ]);
  const events = await say('try this');
  const failed = events.map(callIn).filter((call) => call?.status === 'FAILED');
  assert.equal(failed.length, 4);
  const types = failed.map((call) => call?.error?.type);
  assert.deepEqual(types, ['not_found', 'not_found', 'not_found', 'invalid_arguments']);
  assert.match(failed[0]!.error!.message, /none\.txt.*does not exist/);
  assert.match(failed[2]!.error!.message, /there is no tool dance/);
  assert.match(heard(requests[1]), /does not exist/);
  assert.deepEqual(seen.ends, ['completed']);
});

test('a call that is declined is not made, and the model hears of it', async (t) => {
  const { seen, at, say, answer, requests } = await talk(t, [writes('a.txt', 'a'), done]);
  await say('write');
  const last = await answer('cancel');
  assert.deepEqual(last.map(outline), [
    'TOOL_CALL_UPDATE CANCELLED',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
  assert.equal(seen.lifeOf('write_file'), 'PENDING CANCELLED');
  assert.match(heard(requests[1]), /this call was declined/);
  assert.equal(existsSync(at('a.txt')), false);
});

test("what a person writes in the place of the model's content is what is written", async (t) => {
  const { seen, at, say, answer, requests } = await talk(t, [writes('a.txt', "the model's"), done]);
  await say('write');
  const last = await answer('modify', {
    file_details: { new_content: "the person's" },
  });
  assert.equal(readFileSync(at('a.txt'), 'utf8'), "the person's");
  const settled = last.map(callIn).find((call) => call?.status === 'SUCCEEDED');
  assert.equal(settled?.output?.diff?.new_content, "the person's");
  assert.match(heard(requests[1]), /The user modified the proposed content/);
  assert.equal(seen.lifeOf('write_file'), 'PENDING EXECUTING SUCCEEDED');
});

for (const option of ['modify', 'proceed_once']) {
  test(`a file that has changed since the person was asked is left alone: ${option}`, async (t) => {
    const { seen, at, say, answer, requests } = await talk(t, [writes('a.txt', 'new'), done]);
    writeFileSync(at('a.txt'), 'old');
    await say('write');
    writeFileSync(at('a.txt'), "somebody else's");
    const file_details = { new_content: 'mine' };
    await answer(option, option === 'modify' ? { file_details } : {});
    assert.equal(readFileSync(at('a.txt'), 'utf8'), "somebody else's");
    assert.equal(seen.lifeOf('write_file'), 'PENDING EXECUTING FAILED');
    assert.match(heard(requests[1]), /modified after the approval was requested/);
  });
}

test('content that is too long to be shown whole cannot be modified', async (t) => {
  const { seen, say, url, taskId, onlyWaiting } = await talk(t, [
    writes('a.txt', 'x'.repeat(300 * 1024)),
    done,
  ]);
  await say('write');
  const call = onlyWaiting();
  const ids = call.confirmation_request?.options.map(({ id }) => id) ?? [];
  assert.ok(ids.includes('proceed_once') && !ids.includes('modify'));
  const said = {
    tool_call_id: call.tool_call_id,
    selected_option_id: 'modify',
    file_details: { new_content: 'x' },
  };
  await assert.rejects(stream(url, confirmation(taskId(), said)), /selected_option_id/);
  assert.equal(seen.waiting.length, 1);
});

test('a thought goes before what comes of it', async (t) => {
  const thought = { subject: 'A plan', description: 'First I look.' };
  const { say } = await talk(t, [[{ thought }, { text: 'Well.' }]]);
  const events = await say('think');
  assert.deepEqual(events.map(outline), [
    'task submitted',
    'STATE_CHANGE working',
    'THOUGHT',
    'TEXT_CONTENT',
    'STATE_CHANGE completed final',
  ]);
  const [, , third] = events;
  assert.ok(third?.kind === 'status-update');
  assert.deepEqual(third.status.message?.parts, [{ kind: 'data', data: thought }]);
});

test('a patch of several files is one call and one question', async (t) => {
  const patch = [
    '*** Begin Patch',
    '*** Add File: a.txt',
    '+a',
    '*** Add File: b.txt',
    '+b',
    '*** End Patch',
  ].join('\n');
  const { seen, at, say, answer, onlyWaiting } = await talk(t, [
    calls('apply_patch', { patch }),
    done,
  ]);
  await say('patch');
  const request = onlyWaiting().confirmation_request!;
  assert.match(request.generic_details?.description ?? '', /a\.txt[^]*b\.txt/);
  assert.ok(!request.options.some(({ id }) => id === 'modify'));
  await answer('proceed_once');
  assert.deepEqual(
    [readFileSync(at('a.txt'), 'utf8'), readFileSync(at('b.txt'), 'utf8')],
    ['a\n', 'b\n'],
  );
  assert.equal(seen.lifeOf('apply_patch'), 'PENDING EXECUTING SUCCEEDED');
});
