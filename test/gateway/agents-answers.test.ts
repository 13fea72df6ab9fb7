// Answers on their way to an agent, and the tasks that they name.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { SendResult, Task } from '../../src/protocol/index.ts';
import { within } from '../interop/support.ts';
import { cardOf, liar, statusOf, taskOf } from './agents-liar.ts';
import { behind } from './agents-support.ts';

function taskIn(answer: SendResult): Task {
  assert.ok(answer.kind === 'task', `a task, not ${answer.kind}`);
  return answer;
}

const plainCard = (origin: string) => ({
  ...cardOf(origin),
  capabilities: { streaming: false },
});

for (const [what, card] of [
  ['streams', cardOf],
  ['does not stream', plainCard],
] as const) {
  test(`an answer that never reached an agent that ${what} is asked for again`, async (t) => {
    const waiting = { ...taskOf('input-required'), ...statusWith('Which one?') };
    const { url } = await liar(
      t,
      ({ method, params, answer, say, response }) => {
        if (params.message?.taskId !== undefined) response.destroy();
        else if (method === 'message/stream') {
          say(waiting);
          response.end();
        } else if (method === 'tasks/resubscribe') say(waiting);
        else answer(waiting);
      },
      card,
    );
    const { client } = behind(t, { config: { liar: { url, limits: { quietMs: 3000 } } } });
    const asked = taskIn(await client('liar').send('go'));
    assert.equal(asked.status.state, 'input-required');
    const again = taskIn(await client('liar').send('this one', { taskId: asked.id }));
    assert.equal(again.status.state, 'input-required', JSON.stringify(again.status));
    assert.deepEqual(again.status.message?.parts, [{ kind: 'text', text: 'Which one?' }]);
  });
}

function statusWith(words: string) {
  const { status } = statusOf('input-required', words);
  return { status };
}

test('a message that breaks off is not said to have been refused, whether or not the agent streams', async (t) => {
  for (const card of [cardOf, plainCard]) {
    const { url } = await liar(t, ({ response }) => void response.destroy(), card);
    const { client } = behind(t, { config: { liar: { url } } });
    const { status } = taskIn(await client('liar').send('go'));
    assert.equal(status.state, 'failed');
    assert.match(JSON.stringify(status.message), /The message may have arrived/);
  }
});

test('an agent learns of tasks that a message refers to if they are its own, and by its own ids', async (t) => {
  const told: unknown[] = [];
  const { url } = await liar(t, ({ params, say, response }) => {
    told.push((params.message as { referenceTaskIds?: unknown }).referenceTaskIds);
    say(taskOf('completed'));
    response.end();
  });
  const { client } = behind(t, { config: { one: { url }, other: { url } } });
  const mine = taskIn(await client('one').send('first'));
  const theirs = taskIn(await client('other').send('second'));
  await client('one').send({
    parts: [{ kind: 'text', text: 'third' }],
    referenceTaskIds: [mine.id, theirs.id],
  });
  assert.deepEqual(told, [undefined, undefined, ['T']]);
});

test('a task that is over says so, although its agent is gone', async (t) => {
  const { url } = await liar(t, ({ say, response }) => {
    say(taskOf('completed'));
    response.end();
  });
  const { agents, client } = behind(t, { config: { liar: { url } } });
  const done = taskIn(await client('liar').send('go'));
  agents.use({});
  const late = client('liar').send('more', { taskId: done.id });
  await assert.rejects(late, /is completed and accepts no more messages/);
});

test('a stream in place of an answer is left', async (t) => {
  const left = Promise.withResolvers<void>();
  const { url } = await liar(
    t,
    ({ say, response }) => {
      say(taskOf('working'));
      void once(response, 'close').then(() => left.resolve());
    },
    plainCard,
  );
  const { client } = behind(t, { config: { liar: { url } } });
  const { status } = taskIn(await client('liar').send('go'));
  assert.equal(status.state, 'failed');
  assert.match(JSON.stringify(status.message), /violated the protocol/);
  await within('its end', left.promise, 5000);
});
