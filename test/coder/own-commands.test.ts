/** Slash commands of the user's own that run something first: `!{git diff}` in their files. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { callIn, makePlace, outline, stream, userMessage, type StartOptions } from './support.ts';
import { begin, heard, turnOf, type Talk } from './talk.ts';

async function withCommand(
  t: TestContext,
  body: string,
  script: readonly ScriptedResponse[],
  more: StartOptions = {},
): Promise<Talk> {
  const place = makePlace(t);
  const commands = join(place.home, 'config', 'commands');
  mkdirSync(commands, { recursive: true });
  writeFileSync(join(commands, 'look.md'), body);
  return begin(t, script, { place, ...more });
}

const DONE: ScriptedResponse = [{ text: 'Seen.' }];

test('its commands are asked about before the model is, which then sees what they print', async (t) => {
  const { say, answer, requests } = await withCommand(t, 'Review !{printf secret}.', [DONE]);
  const asked = await say('/look');
  assert.deepEqual(asked.events.map(outline), [
    'task submitted',
    'STATE_CHANGE working',
    'TOOL_CALL_UPDATE PENDING',
    'STATE_CHANGE input-required final',
  ]);
  const request = callIn(asked.events[2]!)?.confirmation_request;
  assert.equal(request?.execute_details?.command, 'printf secret');
  assert.equal(requests.length, 0);
  const done = await answer(asked, 'proceed_once');
  assert.equal(done.text, 'Seen.');
  assert.match(heard(requests[0]), /Review \(see the result of `printf secret`.*"output":"secret"/);
});

test('a file with a mistake is ignored, and the person is told once', async (t) => {
  const notices: string[] = [];
  const notify = ({ text }: { text: string }) => void notices.push(text);
  const { say } = await withCommand(t, '---\ndescription: Look\n---\n', [DONE], { notify });
  assert.equal((await say('/look')).text, 'Seen.');
  await say('/help');
  assert.equal(notices.length, 1);
  assert.match(notices[0]!, /look\.md is empty: the command is ignored\.$/);
});

test('what is declined is not run, and the model hears so', async (t) => {
  const { say, answer, requests } = await withCommand(t, 'Review !{printf secret}.', [DONE]);
  assert.equal((await answer(await say('/look'), 'cancel')).text, 'Seen.');
  assert.match(heard(requests[0]), /this call was declined/);
  assert.doesNotMatch(heard(requests[0]), /"output"/);
});

test('command/execute says that the shell waits, and its confirmation is taken', async (t) => {
  const { execute, url, requests } = await withCommand(t, '!{printf secret}', [DONE]);
  const { execution_id, status } = await execute(['look']);
  assert.equal(status, 'AWAITING_SHELL_CONFIRMATION');
  const { text } = turnOf(await stream(url, userMessage('yes', { taskId: execution_id })));
  assert.equal(text, 'Seen.');
  assert.equal(requests.length, 1);
});

test('command/execute waits for nothing where the shell needs no approval', async (t) => {
  const slow: ScriptedResponse = [{ delayMs: 30_000 }, { text: 'Seen.' }];
  const { execute } = await withCommand(t, '!{printf secret}', [slow], { mode: 'yolo' });
  const { execution_id, status } = await execute(['look']);
  assert.equal(status, 'STARTED');
  assert.notEqual(execution_id, '');
});

test('commands of a turn that was canceled are not run in the next one', async (t) => {
  const { say, url, requests } = await withCommand(t, '!{printf secret}', [DONE]);
  const { taskId } = await say('/look');
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tasks/cancel',
    params: { id: taskId },
  });
  await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const next = await say('hello');
  assert.deepEqual(
    next.events.flatMap((event) => callIn(event) ?? []),
    [],
  );
  assert.equal(next.text, 'Seen.');
  assert.equal(requests.length, 1);
});

test('the placeholder does not contain a quoted part, which follows the prompt', async (t) => {
  const { url, requests } = await withCommand(t, 'Review $ARGUMENTS now.', [DONE]);
  const metadata = { 'parley.quoted': true };
  await stream(
    url,
    userMessage([
      { kind: 'text', text: '/look a.ts' },
      { kind: 'text', text: '\n\na log', metadata },
    ]),
  );
  assert.match(heard(requests[0]), /"Review a\.ts now\."\},\{"kind":"text","text":"\\n\\na log"/);
});
