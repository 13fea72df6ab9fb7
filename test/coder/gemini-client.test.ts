// A client that was written for gemini-cli's a2a-server, by its bytes: `metadata.coderAgent` in its first message, answers
// as { callId, outcome }, and no word of the extension.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { answer, brief, partIn, post, settings, streamed, textIn } from './gemini-talk.ts';
import { makePlace, outline, startCoder, stream, userMessage, type RpcReply } from './support.ts';

const write = (path: string): ScriptedResponse[number] => ({
  call: { name: 'write_file', args: { path, content: 'hello\n' } },
});
const THOUGHT = { thought: { subject: 'A greeting', description: 'One file is enough.' } };

test('a turn, its approval and the next turn are told in the dialect', async (t) => {
  const place = makePlace(t);
  const script = [
    [THOUGHT, { text: 'I will write it.' }, write('hello.txt')],
    [{ text: 'Written.' }],
    [{ text: 'You are welcome.' }],
  ];
  const { url } = await startCoder(t, place, { script });
  const metadata = settings(place.workspace);
  const first = await streamed(url, { message: userMessage('write a greeting', { metadata }) });
  assert.deepEqual(first.map(brief), [
    'task submitted',
    'state-change working',
    'thought working',
    'text-content working',
    'tool-call-confirmation awaiting_approval',
    'state-change input-required final',
  ]);
  assert.equal(partIn(first, 'thought')?.data?.subject, 'A greeting');
  assert.equal(textIn(first), 'I will write it.');
  const asked = partIn(first, 'tool-call-confirmation')?.data;
  assert.equal(asked?.request?.name, 'write_file');
  const { type, fileName, filePath, newContent } = asked.confirmationDetails!;
  const file = join(place.workspace, 'hello.txt');
  assert.deepEqual([type, fileName, filePath, newContent], ['edit', 'hello.txt', file, 'hello\n']);
  assert.equal(existsSync(file), false);

  const last = first.at(-1)!;
  const { callId } = asked.request;
  const second = await streamed(url, answer(last, { callId, outcome: 'proceed_once' }));
  assert.deepEqual(second.map(brief), [
    'tool-call-update executing',
    'tool-call-update success',
    'text-content working',
    'state-change input-required final',
  ]);
  assert.equal(textIn(second), 'Written.');
  assert.equal(readFileSync(file, 'utf8'), 'hello\n');
  for (const { metadata: about } of second) assert.ok(about?.model);

  const { taskId, contextId } = last;
  const third = await streamed(url, { message: userMessage('thanks', { taskId, contextId }) });
  assert.deepEqual(third.map(brief), [
    'state-change working',
    'text-content working',
    'state-change input-required final',
  ]);
  assert.equal(textIn(third), 'You are welcome.');
  const got = JSON.parse(await post(url, 'tasks/get', { id: taskId })) as RpcReply;
  assert.equal(got.result?.status.state, 'input-required');
  assert.doesNotMatch(JSON.stringify(got), /tool_call_id|developer-profile|parley\./);
});

test('a call is rejected, or runs with other content', async (t) => {
  const place = makePlace(t);
  const script = [[write('a.txt')], [write('b.txt')], [{ text: 'One of two.' }]];
  const { url } = await startCoder(t, place, { script });
  const metadata = settings(place.workspace);
  const first = await streamed(url, { message: userMessage('write', { metadata }) });
  const a = partIn(first, 'tool-call-confirmation')?.data?.request?.callId;
  const no = { callId: a, outcome: 'cancel' };
  const second = await streamed(url, answer(first.at(-1)!, no));
  assert.ok(second.map(brief).includes('tool-call-update cancelled'));
  const b = partIn(second, 'tool-call-confirmation')?.data?.request?.callId;
  const other = { callId: b, outcome: 'proceed_once', newContent: 'goodbye\n' };
  const third = await streamed(url, answer(second.at(-1)!, other));
  assert.equal(textIn(third), 'One of two.');
  assert.equal(existsSync(join(place.workspace, 'a.txt')), false);
  assert.equal(readFileSync(join(place.workspace, 'b.txt'), 'utf8'), 'goodbye\n');
});

test('"always" for a command that no rule can describe allows only this call', async (t) => {
  const place = makePlace(t);
  const run = { call: { name: 'run_shell_command', args: { command: 'echo $(echo a) > c.txt' } } };
  const script = [[run], [run], [{ text: 'Done.' }]];
  const { url } = await startCoder(t, place, { script });
  const metadata = settings(place.workspace);
  const first = await streamed(url, { message: userMessage('run', { metadata }) });
  const asked = partIn(first, 'tool-call-confirmation')?.data;
  assert.equal(asked?.confirmationDetails?.['command'], run.call.args.command);
  const always = { callId: asked.request?.callId, outcome: 'proceed_always' };
  const second = await streamed(url, answer(first.at(-1)!, always));
  assert.ok(second.map(brief).includes('tool-call-update success'));
  assert.equal(brief(second.at(-2)!), 'tool-call-confirmation awaiting_approval');
  const made = { callId: asked.request?.callId, outcome: 'whatever' };
  await assert.rejects(streamed(url, answer(second.at(-1)!, made)), /already resolved|no call/);
});

test('the settings of the dialect follow the rules of the operator', async (t) => {
  const place = makePlace(t);
  const inner = join(place.workspace, 'inner');
  mkdirSync(inner);
  const { url } = await startCoder(t, place, { script: [[write('d.txt')]] });
  const begin = (metadata: object) =>
    streamed(url, { message: userMessage('write', { metadata: { ...metadata } }) });
  await assert.rejects(begin(settings('/')), /inside a workspace of this server/);
  await assert.rejects(
    begin(settings(inner, { autoExecute: true })),
    /started without --allow-auto-execute/,
  );
  const first = await begin(settings(inner, { isTrusted: true }));
  const details = partIn(first, 'tool-call-confirmation')?.data?.confirmationDetails;
  assert.equal(details?.['filePath'], join(inner, 'd.txt'));
});

test('settings in the metadata of the request choose the dialect, and nothing else', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script: [[{ text: 'Hello.' }]] });
  const metadata = settings('/tmp', { autoExecute: true });
  const events = await streamed(url, { message: userMessage('hello'), metadata });
  assert.deepEqual(events.map(brief).slice(1), [
    'state-change working',
    'text-content working',
    'state-change input-required final',
  ]);
});

test('of two answers in two dialects the first one counts', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, { script: [[write('e.txt')], [{ text: 'No.' }]] });
  const metadata = settings(place.workspace);
  const first = await streamed(url, { message: userMessage('write', { metadata }) });
  const last = first.at(-1)!;
  const callId = partIn(first, 'tool-call-confirmation')!.data!.request!.callId;
  const data = { tool_call_id: callId, selected_option_id: 'cancel' };
  const { taskId } = last;
  const theirs = await stream(url, userMessage([{ kind: 'data', data }], { taskId }));
  assert.ok(theirs.map(outline).includes('TOOL_CALL_UPDATE CANCELLED'));
  const late = streamed(url, answer(last, { callId, outcome: 'proceed_once' }));
  await assert.rejects(late, /already resolved/);
  assert.equal(existsSync(join(place.workspace, 'e.txt')), false);
});
