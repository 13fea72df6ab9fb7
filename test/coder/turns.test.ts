/** Turns that nobody watches, that are answered from several sides, that never end by themselves. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { connect } from '../../src/client/index.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { textOf } from '../../src/protocol/index.ts';
import { calls, done, shell, talk } from './checked-talk.ts';
import { makePlace, outline, rpc, startCoder } from './support.ts';
import { heard, settings, writes } from './talk.ts';

test('a client that leaves does not stop the turn', async (t) => {
  const { url, at, taskId, say, onlyWaiting } = await talk(t, [
    shell('until [ -e go ]; do sleep 0.02; done; echo went > went'),
    shell('echo never'),
  ]);
  await say('run');
  const message = {
    kind: 'message',
    messageId: 'leaving',
    role: 'user',
    taskId: taskId(),
    parts: [
      {
        kind: 'data',
        data: { tool_call_id: onlyWaiting().tool_call_id, selected_option_id: 'proceed_once' },
      },
    ],
  };
  const leave = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }),
    signal: leave.signal,
  });
  const reader = response.body!.getReader();
  let text = '';
  while (!text.includes('EXECUTING'))
    text += Buffer.from((await reader.read()).value ?? '').toString();
  leave.abort();
  await reader.closed.catch(() => {});
  const agent = await connect(url);
  t.after(() => agent.close());
  const watching = agent.resubscribe(taskId());
  writeFileSync(at('go'), '');
  for await (const { event } of watching) {
    if (event.kind === 'status-update' && event.final) break;
  }
  assert.equal(readFileSync(at('went'), 'utf8'), 'went\n');
  const { result } = await rpc(url, 'tasks/get', { id: taskId() });
  assert.equal(result?.status.state, 'input-required', 'and the turn went on to its next call');
});

test('what a model has said is shown while it pauses', async (t) => {
  const gate = Promise.withResolvers<void>();
  const model: Model = {
    name: 'pausing',
    async *generate() {
      yield { kind: 'text', text: 'Wait for it' };
      await gate.promise;
      yield { kind: 'text', text: ': done.' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  const { url } = await startCoder(t, makePlace(t), { model });
  const agent = await connect(url);
  t.after(() => agent.close());
  const said: string[] = [];
  for await (const { event } of agent.stream('go')) {
    if (event.kind !== 'artifact-update') continue;
    said.push(textOf(event.artifact.parts));
    if (said.join('') === 'Wait for it') gate.resolve();
  }
  assert.deepEqual(said, ['Wait for i', 't', ': done.']);
});

for (const order of [
  [0, 1],
  [1, 0],
]) {
  test(`of two calls one is answered on each wire, in the order ${order.join(', ')}`, async (t) => {
    const { url, say, seen, taskId, at } = await talk(t, [
      [...writes('a.txt', 'a'), ...writes('b.txt', 'b')],
      done,
    ]);
    await say('write both');
    const waiting = seen.waiting;
    const wires = ['0.3', '1.0'] as const;
    for (const [index, which] of order.entries()) {
      const agent = await connect(url, { version: wires[index]! });
      t.after(() => agent.close());
      const data = {
        tool_call_id: waiting[which]!.tool_call_id,
        selected_option_id: 'proceed_once',
      };
      const answer = await agent.send([{ kind: 'data', data }], {
        taskId: taskId(),
        extensions: [EXTENSION_URI],
      });
      assert.ok(answer.kind === 'task');
      assert.equal(answer.status.state, index === 0 ? 'input-required' : 'completed');
    }
    assert.deepEqual(
      [readFileSync(at('a.txt'), 'utf8'), readFileSync(at('b.txt'), 'utf8')],
      ['a', 'b'],
    );
  });
}

test('a model that never stops calling tools is stopped, and the client is told why', async (t) => {
  const place = makePlace(t);
  settings(place, { limits: { maxSteps: 5 } });
  const endless: ScriptedResponse[] = Array.from({ length: 20 }, () => calls('list_directory', {}));
  const { say, goOn, requests, seen } = await talk(t, [...endless.slice(0, 5), done], { place });
  const events = await say('go round and round');
  assert.equal(outline(events.at(-1)!), 'STATE_CHANGE failed final');
  assert.match(JSON.stringify(events.at(-1)), /The turn has reached its limit of model calls\./);
  assert.match(JSON.stringify(events.at(-1)), /"errorCode":"step-limit"/);
  assert.equal(requests.length, 5);
  assert.deepEqual(seen.ends, ['failed']);
  await assert.rejects(goOn('and on'), /accepts no more messages/);
});

test('the next turn in the conversation knows what the stopped one did', async (t) => {
  const place = makePlace(t);
  settings(place, { limits: { maxSteps: 2 } });
  const { say, requests } = await talk(
    t,
    [calls('list_directory', {}), calls('list_directory', {}), done],
    { place },
  );
  const [task] = await say('look around');
  assert.ok(task?.kind === 'task');
  await say('what did you see?', { contextId: task.contextId });
  assert.match(heard(requests[2]), /look around.*list_directory.*what did you see\?/);
});
