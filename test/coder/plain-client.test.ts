/** Clients that speak A2A and know nothing of the development-tool extension. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect, type Input, type SendOptions } from '../../src/client/index.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { textOf, VERSIONS, type Task } from '../../src/protocol/index.ts';
import { calls, done, shell } from './checked-talk.ts';
import { begin, heard, writes } from './talk.ts';

async function plain(
  t: TestContext,
  version: (typeof VERSIONS)[number],
  script: readonly ScriptedResponse[],
) {
  const { url, place, requests } = await begin(t, script);
  const agent = await connect(url, { version });
  t.after(() => agent.close());
  const send = async (input: Input, options?: SendOptions): Promise<Task> => {
    const answer = await agent.send(input, options);
    assert.ok(answer.kind === 'task');
    return answer;
  };
  return { agent, send, requests, at: (name: string) => join(place.workspace, name) };
}

const said = ({ status }: Task): string => textOf(status.message?.parts ?? []);
const answer = ({ artifacts = [] }: Task): string =>
  artifacts.map(({ parts }) => textOf(parts)).join('|');

for (const version of VERSIONS) {
  test(`${version}: a call is described in words, and yes allows it`, async (t) => {
    const { send, at } = await plain(t, version, [writes('a.txt', 'hello\n'), done]);
    const task = await send('write');
    assert.equal(task.status.state, 'input-required');
    assert.match(said(task), /^Write a\.txt\n[^]*\+hello\n[^]*May I do this\? Answer yes or no/);
    const last = await send('Yes.', { taskId: task.id });
    assert.deepEqual([last.status.state, answer(last)], ['completed', 'Done.']);
    assert.equal(readFileSync(at('a.txt'), 'utf8'), 'hello\n');
  });

  test(`${version}: no declines it, and other words are a reason that the model hears`, async (t) => {
    const { send, at, requests } = await plain(t, version, [
      shell('touch a'),
      done,
      shell('touch b'),
      [{ text: 'As you wish.' }],
    ]);
    const first = await send('run');
    const declined = await send('no', { taskId: first.id });
    assert.equal(declined.status.state, 'completed');
    const second = await send('run', { contextId: first.contextId });
    const other = await send('use printf instead', { taskId: second.id });
    assert.equal(answer(other), 'As you wish.');
    assert.match(heard(requests.at(-1)), /this call was declined: use printf instead/);
    assert.ok(!existsSync(at('a')) && !existsSync(at('b')));
  });

  test(`${version}: a completed task takes no more messages, its conversation does`, async (t) => {
    const { send, requests } = await plain(t, version, [done, [{ text: 'Again.' }]]);
    const task = await send('remember me');
    await assert.rejects(send('and?', { taskId: task.id }), { code: -32004 });
    const next = await send('and?', { contextId: task.contextId });
    assert.notEqual(next.id, task.id);
    assert.match(heard(requests[1]), /remember me/);
  });
}

test('a long command is shown whole to whoever is to allow it', async (t) => {
  const command = `echo ${'x'.repeat(200)}; rm -rf precious`;
  const { send } = await plain(t, '1.0', [shell(command)]);
  assert.ok(said(await send('run')).includes(command));
});

test('several calls that wait are asked about together, and words answer all of them', async (t) => {
  const { send, at } = await plain(t, '0.3', [
    [...writes('a.txt', 'a'), ...writes('b.txt', 'b')],
    done,
  ]);
  const task = await send('write');
  // They are looked at side by side: either may be asked about first.
  for (const file of ['a', 'b']) {
    assert.match(said(task), new RegExp(`${file}\\.txt[^]*May I do all of this\\?`));
  }
  const last = await send('go ahead', { taskId: task.id });
  assert.equal(last.status.state, 'completed');
  assert.ok(existsSync(at('a.txt')) && existsSync(at('b.txt')));
});

test('a question of the model is its own words, with the answers to choose from', async (t) => {
  const { send, requests } = await plain(t, '0.3', [
    calls('ask_user', { question: 'Which colour?', options: ['red', 'blue'] }),
    done,
  ]);
  const task = await send('ask me');
  assert.equal(said(task), 'Which colour? (red, blue)');
  await send('BLUE', { taskId: task.id });
  assert.match(heard(requests[1]), /"answer":"blue"/);
});

for (const words of ['Allow once', 'proceed_once', ' allow ONCE ']) {
  test(`"${words}" with only the context allows the call that waits, as with the task's id`, async (t) => {
    const { send, at } = await plain(t, '0.3', [
      writes('a.txt', 'a'),
      done,
      writes('b.txt', 'b'),
      done,
    ]);
    const task = await send('write');
    const last = await send(words, { contextId: task.contextId });
    assert.deepEqual([last.id, last.status.state], [task.id, 'completed']);
    assert.equal(readFileSync(at('a.txt'), 'utf8'), 'a');
    const second = await send('write', { contextId: task.contextId });
    assert.equal((await send(words, { taskId: second.id })).status.state, 'completed');
    assert.equal(readFileSync(at('b.txt'), 'utf8'), 'b');
  });
}

test('an option that allows more than one call is chosen by its name, and the next call is not asked about', async (t) => {
  const { send, at } = await plain(t, '1.0', [writes('a.txt', 'a'), writes('b.txt', 'b'), done]);
  const { contextId } = await send('write');
  const last = await send('Always allow write_file in this session', { contextId });
  assert.equal(last.status.state, 'completed');
  assert.ok(existsSync(at('a.txt')) && existsSync(at('b.txt')));
});

test('other words with only the context start a task, and the call still waits', async (t) => {
  const { agent, send, at } = await plain(t, '1.0', [
    writes('a.txt', 'a'),
    [{ text: 'one' }],
    [{ text: 'two' }],
    [{ text: 'three' }],
    [{ text: 'four' }],
    [{ text: 'five' }],
    done,
  ]);
  const task = await send('write');
  const { contextId } = task;
  for (const words of ['yes', 'ok', 'Allow', 'modify', 'Allow once, please']) {
    const other = await send(words, { contextId });
    assert.notEqual(other.id, task.id, words);
  }
  assert.equal((await agent.get(task.id)).status.state, 'input-required');
  assert.ok(!existsSync(at('a.txt')));
  const rejected = await send('Reject', { contextId });
  assert.deepEqual([rejected.id, rejected.status.state], [task.id, 'completed']);
  assert.ok(!existsSync(at('a.txt')));
});

test('a question of the model is answered by any words with only the context, but not by a command', async (t) => {
  const { send, requests } = await plain(t, '0.3', [
    calls('ask_user', { question: 'Which colour?', options: ['red', 'blue'] }),
    done,
  ]);
  const task = await send('ask me');
  const { contextId } = task;
  assert.notEqual((await send('/help', { contextId })).id, task.id);
  assert.equal((await send('a light green', { contextId })).id, task.id);
  assert.match(heard(requests[1]), /"answer":"a light green"/);
});
