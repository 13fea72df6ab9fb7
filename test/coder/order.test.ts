/** The calls of one answer that write or run happen in its order, and each tells how it ended. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import { confirmation, startCoder, stream } from './support.ts';
import { heard, writes } from './talk.ts';

const edits = (path: string, old: string, now: string): ScriptedResponse =>
  calls('edit', { path, old, new: now });

test('a command and a search behind an edit see the edited file', async (t) => {
  const answer = [
    ...calls('search', { pattern: 'slow' }),
    ...edits('a.ts', 'slow', 'fast'),
    ...calls('search', { pattern: 'fast' }),
    ...shell('cat a.ts'),
    ...writes('a.ts', 'last'),
  ];
  const { at, say, seen, place } = await talk(t, [answer, done], { mode: 'yolo', loosest: 'yolo' });
  writeFileSync(`${place.workspace}/a.ts`, 'slow\n');
  await say('edit, then test');
  const [before, , after, cat] = [...seen.calls.values()].map(({ output }) => output);
  assert.match(JSON.stringify(before), /a\.ts/);
  assert.match(JSON.stringify(after), /a\.ts/);
  assert.equal(cat?.text, 'fast\n');
  assert.equal(readFileSync(at('a.ts'), 'utf8'), 'last');
});

test('a file that one call makes can be edited by the next', async (t) => {
  const answer = [
    ...writes('a.txt', 'one'),
    ...edits('a.txt', 'one', 'two'),
    ...shell('cat a.txt'),
  ];
  const { say, seen } = await talk(t, [answer, done], { mode: 'yolo', loosest: 'yolo' });
  const events = await say('write and edit');
  assert.deepEqual(
    [...seen.calls.values()].map(({ status }) => status),
    ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'],
  );
  assert.equal(lastCall(events).output?.text, 'two');
});

/** The change that a call asks about, `before → after`. */
function change(call: ToolCall | undefined): string {
  const diff = call?.confirmation_request?.file_edit_details;
  return `${diff?.old_content} → ${diff?.new_content}`;
}

test('a second change of the same file is asked about with the content that the first one leaves', async (t) => {
  const answer = [
    ...edits('a.txt', 'one', 'two'),
    ...edits('a.txt', 'two', 'three'),
    ...writes('b.txt', 'b'),
  ];
  const { at, say, answer: decide, seen, place } = await talk(t, [answer, done]);
  writeFileSync(`${place.workspace}/a.txt`, 'one');
  await say('edit twice');
  const [first, other] = seen.waiting;
  assert.deepEqual([first, other].map(change), ['one → two', 'undefined → b']);
  assert.equal(seen.waiting.length, 2, 'the change of another file is asked about at once');
  await decide('proceed_once', { call: other! });
  assert.equal(existsSync(at('b.txt')), false, 'it waits for its turn');
  await decide('proceed_once', { call: first! });
  const [second] = seen.waiting;
  assert.equal(change(second), 'two → three');
  await decide('proceed_once', { call: second! });
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'three');
  assert.ok(existsSync(at('b.txt')));
  assert.deepEqual(seen.ends, ['completed']);
});

test('a change behind a command is asked about when the command has ended, with its true content', async (t) => {
  const answer = [...shell('echo made > a.txt'), ...edits('a.txt', 'made', 'changed')];
  const { at, say, answer: decide, onlyWaiting, seen } = await talk(t, [answer, done]);
  await say('run and edit');
  assert.equal(onlyWaiting().tool_name, 'run_shell_command');
  await decide('proceed_once');
  assert.equal(change(onlyWaiting()), 'made\n → changed\n');
  await decide('proceed_once');
  assert.equal(readFileSync(at('a.txt'), 'utf8'), 'changed\n');
  assert.equal(seen.lifeOf('edit'), 'PENDING EXECUTING SUCCEEDED');
});

test('an approved call that waits for its turn still runs after a restart, and asks no more', async (t) => {
  const answer = [...shell('echo one >> log'), ...shell('echo two >> log')];
  const { at, place, say, answer: decide, seen, stop, taskId } = await talk(t, [answer]);
  await say('two commands');
  const [one, two] = seen.waiting;
  await decide('proceed_once', { call: two! });
  assert.deepEqual(
    seen.waiting.map(({ tool_call_id }) => tool_call_id),
    [one!.tool_call_id],
  );
  assert.equal(existsSync(at('log')), false);
  await stop();
  const { url } = await startCoder(t, place, { script: [done] });
  const yes = { tool_call_id: one!.tool_call_id, selected_option_id: 'proceed_once' };
  seen.take(await stream(url, confirmation(taskId(), yes)));
  assert.equal(readFileSync(at('log'), 'utf8'), 'one\ntwo\n');
  assert.deepEqual(seen.ends, ['completed']);
});

test('a question of the model never goes back from running to waiting', async (t) => {
  const answer = calls('ask_user', { question: 'Which?', options: ['red', 'blue'] });
  const { say, goOn, seen } = await talk(t, [answer, done]);
  await say('ask');
  await goOn('red');
  assert.equal(seen.lifeOf('ask_user'), 'PENDING EXECUTING SUCCEEDED');
});

test('a question of the model waits for the command before it, and then asks', async (t) => {
  const answer = [...shell('touch done'), ...calls('ask_user', { question: 'Which?' })];
  const { at, say, answer: decide, onlyWaiting, goOn, seen } = await talk(t, [answer, done]);
  await say('run and ask');
  assert.equal(onlyWaiting().tool_name, 'run_shell_command');
  await decide('proceed_once');
  assert.ok(existsSync(at('done')));
  assert.equal(onlyWaiting().tool_name, 'ask_user');
  await goOn('this one');
  assert.equal(seen.lifeOf('ask_user'), 'PENDING EXECUTING SUCCEEDED');
});

test('a command that fails is a failed call with its exit code, and the model reads its whole output', async (t) => {
  const script = [shell('echo checked; echo wrong >&2; exit 3'), done];
  const { say, seen, requests } = await talk(t, script, { mode: 'yolo', loosest: 'yolo' });
  const events = await say('test it');
  const { status, error, output } = lastCall(events);
  assert.equal(status, 'FAILED');
  assert.equal(output, undefined);
  assert.deepEqual(error, {
    type: 'exit_code',
    status_code: 3,
    message: 'exit code 3\nchecked\nwrong\n',
  });
  assert.match(heard(requests[1]), /"output":"checked\\nwrong\\n","exit_code":3/);
  assert.deepEqual(seen.ends, ['completed']);
});

test('the type of an error says what went wrong', async (t) => {
  const failing: readonly (readonly [string, ScriptedResponse])[] = [
    ['timeout', calls('run_shell_command', { command: 'sleep 60', timeout_ms: 50 })],
    ['exit_code', shell('kill -9 $$')],
    ['not_found', calls('read_file', { path: 'none.txt' })],
    ['not_found', calls('dance', {})],
    ['invalid_arguments', calls('read_file', { file: 'a.txt' })],
    ['invalid_arguments', calls('apply_patch', { patch: 'no patch' })],
    ['denied', calls('read_file', { path: '/etc/passwd' })],
    ['denied', calls('fetch_url', { url: 'http://127.0.0.1:1/' })],
    ['conflict', edits('a.txt', 'two', 'three')],
    ['too_large', writes('big.txt', 'x'.repeat(11 * 2 ** 20))],
    ['not_found', calls('shell_jobs', { job: 'job-9' })],
  ];
  const answer = failing.flatMap(([, call]) => call);
  const { say, seen, place } = await talk(t, [answer, done], { mode: 'yolo', loosest: 'yolo' });
  writeFileSync(`${place.workspace}/a.txt`, 'one');
  await say('everything wrong');
  for (const [type, [step]] of failing) {
    assert.ok(step?.call);
    const { name, args } = step.call;
    const wanted = JSON.stringify(args);
    const made = [...seen.calls.values()].find(
      (call) => call.tool_name === name && JSON.stringify(call.input_parameters) === wanted,
    );
    assert.deepEqual([made?.status, made?.error?.type], ['FAILED', type], wanted.slice(0, 80));
  }
});

test('a call that a rule or a person does not allow says which', async (t) => {
  const { say, answer, seen } = await talk(t, [shell('touch a'), done, writes('a', 'a'), done]);
  await say('run');
  await answer('cancel');
  const [declined] = seen.calls.values();
  assert.deepEqual([declined?.status, declined?.error?.type], ['CANCELLED', 'declined']);
  const { say: plan, seen: planned } = await talk(t, [writes('a', 'a'), done], { mode: 'plan' });
  await plan('write');
  const [denied] = planned.calls.values();
  assert.deepEqual([denied?.status, denied?.error?.type], ['FAILED', 'denied']);
});
