// Answers to questions of the live session, over HTTP and in words.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { LiveToken } from '../../src/live/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { rpc, userMessage } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { ASKS, json, queue, says, shared, v1 } from './http-support.ts';

test('every client sees an approval over HTTP, and who gave it', async (t) => {
  const { url, ann, live, place } = await shared(t, { script: ASKS });
  const asked = await rpc(url, 'message/send', { message: userMessage('write') });
  assert.equal(asked.result?.status.state, 'input-required');
  const { tool_call_id } = await ann.pending();
  const yes = { tool_call_id, selected_option_id: 'proceed_once' };
  const answer = () => userMessage([{ kind: 'data', data: yes }], { taskId: live.taskId });
  const done = await rpc(url, 'message/send', { message: answer() });
  assert.equal(done.result?.status.state, 'completed');
  assert.equal(readFileSync(join(place.workspace, 'a.txt'), 'utf8'), 'A');
  const shown = await ann.until((item) =>
    item.kind === 'event' && JSON.stringify(item.event).includes('TOOL_CALL_CONFIRMATION')
      ? JSON.stringify(item.event)
      : undefined,
  );
  assert.match(shown, /"source":\{"client":"a2a-\d+","name":"http"\}/);
  const late = await rpc(url, 'message/send', { message: answer() });
  assert.equal(late.error?.code, -32004);
  assert.match(JSON.stringify(late.error.data), /ALREADY_RESOLVED.*http|http.*ALREADY_RESOLVED/);
});

test('a client that names the extension only in its message sees the calls', async (t) => {
  const { url } = await shared(t, { script: ASKS });
  const message = userMessage('write', { extensions: [EXTENSION_URI] });
  const params = { message };
  const body = { jsonrpc: '2.0', id: 1, method: 'message/stream', params };
  const { text } = await json(url, body);
  assert.match(text, /"confirmation_request"/);
});

test('a plain client answers in words, with the id of the task', async (t) => {
  const { url, ann, live, place } = await shared(t, { script: ASKS });
  const send = (text: string, more: object = {}) =>
    json(url, {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: userMessage(text, more) },
    });
  assert.match((await send('write')).text, /input-required/);
  assert.match((await send('yes', { taskId: live.taskId })).text, /"completed"/);
  assert.ok(existsSync(join(place.workspace, 'a.txt')));
  assert.ok(ann.said.includes('http: yes'));
});

test('with only the context, the client that began the turn allows its call by the name of an option', async (t) => {
  const tokens: LiveToken[] = [
    { name: 'bot', roles: ['prompt'], token: 'prompts' },
    { name: 'phone', roles: ['prompt', 'approve'], token: 'approves' },
  ];
  const { url, ann, live, place } = await shared(t, {
    script: [...ASKS, writes('b.txt', 'B'), says('Done.')],
    access: { tokens },
  });
  const send = async (token: string, text: string, more: object = {}) => {
    const message = userMessage(text, { contextId: live.contextId });
    const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message, ...more } };
    return (await json(url, body, { authorization: `Bearer ${token}` })).text;
  };
  const queued = { configuration: { blocking: false } };
  assert.match(await send('approves', 'write'), /input-required/);
  // A prompt of another client, and other words of the same one, wait for the end of the turn.
  assert.match(await send('prompts', 'Allow once', queued), /parley\.queued/);
  assert.match(await send('approves', 'yes', queued), /parley\.queued/);
  const { queued: waiting } = await ann.until((item) =>
    item.kind === 'presence' && item.queued.length === 2 ? item : undefined,
  );
  assert.deepEqual(
    waiting.map(({ text, from }) => `${from}: ${text}`),
    ['bot: Allow once', 'phone: yes'],
  );
  assert.ok(!existsSync(join(place.workspace, 'a.txt')));
  assert.match(await send('approves', 'allow once'), /"completed"/);
  assert.ok(existsSync(join(place.workspace, 'a.txt')));
  // The queued prompt of the client that may only prompt has begun a turn that asks. It cannot allow its own call.
  await ann.pending(1);
  assert.match(await send('prompts', 'Allow once', queued), /parley\.queued/);
  assert.match(await send('approves', 'Allow once', queued), /parley\.queued/);
  assert.ok(!existsSync(join(place.workspace, 'b.txt')));
});

test('of several answers in words at the same time, one counts, and none is about a later question', async (t) => {
  const later: ScriptedResponse = [{ delayMs: 100 }, ...writes('b.txt', 'B')];
  const { ann, live, place } = await shared(t, { script: [...ASKS.slice(0, 1), later] });
  await ann.session.prompt('write');
  await ann.pending();
  const five = ['one', 'two', 'three', 'four', 'five'].map((name) =>
    live.join({ kind: 'a2a', name }),
  );
  const sent = five.map((member) =>
    member.send({ message: userMessage('yes', { taskId: live.taskId }) }, member.call),
  );
  const outcomes = await Promise.allSettled(sent);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 4);
  for (const { reason } of refused as PromiseRejectedResult[]) {
    assert.equal(reason.detail.reason, 'ALREADY_RESOLVED');
  }
  assert.match((await ann.pending(1)).description ?? '', /b\.txt/);
  assert.ok(existsSync(join(place.workspace, 'a.txt')));
  assert.ok(!existsSync(join(place.workspace, 'b.txt')));
  assert.equal(ann.said.filter((line) => line.endsWith(': yes')).length, 1);
});

test('an answer in words at the same time as a command is taken after the command', async (t) => {
  const running = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const script = [says('Hello.'), ...ASKS.slice(0, 1), says('A summary.'), says('Written.')];
  const scripted = scriptedModel(script);
  let requests = 0;
  const model: Model = {
    ...scripted,
    async *generate(request, signal) {
      if (++requests === 3) {
        running.resolve();
        await goesOn.promise;
      }
      yield* scripted.generate(request, signal);
    },
  };
  const { ann, live, place } = await shared(t, { model });
  const bob = live.join({ kind: 'a2a', name: 'bob' });
  const say = (text: string) =>
    bob.send({ message: userMessage(text, { taskId: live.taskId }) }, bob.call);
  await ann.session.prompt('hello');
  await ann.state('completed');
  await ann.session.prompt('write');
  await ann.pending();
  const [command, sent] = [say('/compress'), say('yes')];
  await command;
  await running.promise;
  // The answer is refused at first, and must not be dropped.
  await Promise.race([sent, delay(300)]);
  goesOn.resolve();
  await sent;
  await ann.state('completed', 2);
  assert.ok(existsSync(join(place.workspace, 'a.txt')));
});

test('an answer cannot take the id of a queued prompt', async (t) => {
  const { url, ann, live } = await shared(t, { script: [...ASKS, says('Well.')] });
  await ann.session.prompt('write');
  const { tool_call_id } = await ann.pending();
  const message = userMessage('hello');
  const waiting = rpc(url, 'message/send', { message });
  await queue(ann, 1);
  const { taskId } = live;
  const parts = [{ kind: 'data', data: { tool_call_id, selected_option_id: 'proceed_once' } }];
  const { error } = await rpc(url, 'message/send', { message: { ...message, taskId, parts } });
  assert.equal(error?.code, -32602);
  await ann.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
  assert.match(JSON.stringify((await waiting).result), /Well\./);
});

test('a plain client that answers gets the text after its answer as one part', async (t) => {
  const rest: ScriptedResponse = [{ text: 'It is ' }, { delayMs: 150 }, { text: 'written.' }];
  const script = [[{ text: 'I write.' }, ...writes('a.txt', 'A')], rest];
  const { url, live } = await shared(t, { script });
  await json(`${url}/message:send`, v1('write'));
  const message = { ...v1('Allow once').message, taskId: live.taskId };
  const { text } = await json(`${url}/message:send`, { message });
  const { task } = JSON.parse(text) as { task: { artifacts: { parts: { text: string }[] }[] } };
  assert.deepEqual(
    task.artifacts.map(({ parts }) => parts.map((part) => part.text.trim())),
    [['It is written.']],
  );
});
