// Agents that break the protocol, or serve it badly: what our log says in the end is true, and they are told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerText } from '../../src/client/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { cardOf, chunkOf, liar, statusOf, taskOf, textOf, type Asked } from './agents-liar.ts';
import { behind } from './agents-support.ts';

const LONG = 'x'.repeat(2000);

const broken: Record<string, { events: (asked: Asked) => void; says: RegExp }> = {
  "an event of another task's": {
    events: ({ say }) => say(taskOf('working'), statusOf('working', 'x', { taskId: 'U' })),
    says: /another task/,
  },
  'another conversation in the middle': {
    events: ({ say }) => say(taskOf('working'), statusOf('working', 'x', { contextId: 'D' })),
    says: /another conversation/,
  },
  'a message in the middle of a task': {
    events: ({ say }) =>
      say(
        taskOf('working'),
        { kind: 'message', messageId: 'm', role: 'agent', parts: textOf('so far') },
        chunkOf('a', 'the answer'),
        statusOf('completed'),
      ),
    says: /a message in the middle of a task/,
  },
  'an error in the middle': {
    events({ say, refuse }) {
      say(taskOf('working'), chunkOf('a', 'one'));
      refuse(-32603, 'no more');
    },
    says: /failed: no more/,
  },
  'no JSON in the middle': {
    events({ say, response }) {
      say(taskOf('working'));
      response.write('data: {"jsonrpc":\n\n');
    },
    says: /violated the protocol/,
  },
  'an event that is too long': {
    events: ({ say }) => say(taskOf('working'), chunkOf('a', LONG)),
    says: /failed: an event of the stream is larger than 1000 bytes/,
  },
  'a part of a kind that there is not': {
    events: ({ say }) =>
      say(taskOf('working'), {
        ...chunkOf('a', ''),
        artifact: { artifactId: 'a', parts: [{ kind: 'hologram' }] },
      }),
    says: /violated the protocol/,
  },
};

for (const [what, { events, says }] of Object.entries(broken)) {
  test(`${what}: the task fails, and the agent is told that its own is no longer wanted`, async (t) => {
    const { url, called } = await liar(t, (asked) => {
      if (asked.method === 'message/stream') events(asked);
      else asked.answer(taskOf('canceled'));
    });
    const { client } = behind(t, { config: { liar: { url, limits: { maxEventBytes: 1000 } } } });
    const task = await client('liar').send('go');
    assert.ok(task.kind === 'task' && task.status.state === 'failed');
    assert.match(JSON.stringify(task.status.message), says);
    await called('tasks/cancel');
  });
}

test('metadata.agent that is no name is refused as such', async (t) => {
  const { client } = behind(t);
  for (const agent of ['', ['liar'], null, 7]) {
    const refused = { kind: 'invalidParams' };
    await assert.rejects(client().send('go', { metadata: { agent } }), refused);
  }
});

test('what is said after the end is not heard', async (t) => {
  const { url } = await liar(t, ({ say }) =>
    say(
      taskOf('working'),
      statusOf('completed', 'done'),
      statusOf('failed', 'or not'),
      chunkOf('z', 'late'),
    ),
  );
  const { client } = behind(t, { config: { liar: { url } } });
  const task = (await client('liar').send('go')) as Task;
  assert.equal(task.status.state, 'completed');
  assert.equal(task.artifacts, undefined);
});

test('a subscription that leaves out what was said meanwhile: the whole is fetched before the end', async (t) => {
  const { url } = await liar(t, ({ method, say, answer, response }) => {
    if (method === 'message/stream') {
      say(taskOf('working'), chunkOf('a', 'one '));
      response.flushHeaders();
      setImmediate(() => response.destroy());
    } else if (method === 'tasks/resubscribe') {
      say(chunkOf('a', 'three', { append: true }), statusOf('completed'));
      response.end();
    } else answer(taskOf('completed', ['a', 'one two three']));
  });
  const { client } = behind(t, { config: { liar: { url } } });
  const task = (await client('liar').send('go')) as Task;
  assert.equal(task.status.state, 'completed');
  assert.equal(answerText(task), 'one two three');
});

test('a snapshot in the middle, and a task that cannot be fetched: the end is what the agent said', async (t) => {
  for (const how of ['refuses', 'breaks off']) {
    const { url } = await liar(t, ({ method, say, refuse, response }) => {
      if (method === 'message/stream') {
        say(taskOf('working'), chunkOf('a', 'one'), taskOf('working', ['a', 'one']));
        say(statusOf('failed', 'out of paper'));
      } else if (how === 'refuses') refuse(-32603, 'no');
      else response.destroy();
    });
    const { client } = behind(t, { config: { liar: { url } } });
    const task = (await client('liar').send('go')) as Task;
    assert.equal(task.status.state, 'failed', how);
    assert.match(JSON.stringify(task.status.message), /out of paper/, how);
  }
});

test('an agent that refuses every subscription, whatever the reason, is asked for its task', async (t) => {
  for (const code of [-32001, -32004, -32601, -32602, -32603]) {
    let asked = 0;
    const { url } = await liar(t, ({ method, say, answer, refuse, response }) => {
      if (method === 'message/stream') {
        say(taskOf('working'));
        response.end();
      } else if (method === 'tasks/resubscribe') refuse(code, 'no');
      else answer(taskOf(++asked > 1 ? 'completed' : 'working', ['a', 'polled']));
    });
    const { client } = behind(t, { config: { liar: { url } } });
    const task = (await client('liar').send('go')) as Task;
    assert.equal(task.status.state, 'completed', String(code));
    assert.equal(answerText(task), 'polled');
  }
});

test('an answer that comes too late: the task ends as it has ended at the agent', async (t) => {
  const { url } = await liar(t, ({ method, params, say, answer, refuse, response }) => {
    if (method === 'tasks/get') answer(taskOf('completed', ['a', 'on my own']));
    else if (params.message?.taskId !== undefined) refuse(-32600, 'It is over');
    else {
      say(statusOf('input-required', 'Which one?'));
      response.end();
    }
  });
  const { client } = behind(t, { config: { liar: { url } } });
  const asked = (await client('liar').send('go')) as Task;
  assert.equal(asked.status.state, 'input-required');
  const task = (await client('liar').send('this one', { taskId: asked.id })) as Task;
  assert.equal(task.status.state, 'completed');
  assert.equal(answerText(task), 'on my own');
});

test('an answer is not sent to another agent that has got the name of the one that asked', async (t) => {
  const ask = ({ say, response }: Asked): void => {
    say(statusOf('input-required', 'The password?'));
    response.end();
  };
  const [one, other] = [await liar(t, ask), await liar(t, ask)];
  const { agents, client } = behind(t, { allowNetworks: ['127.0.0.0/8'] });
  const change = { workspace: 'default', actor: 'test', name: 'liar', create: true, verify: true };
  await agents.put({ ...change, input: { url: one.url } });
  const asked = (await client('liar').send('go')) as Task;
  await agents.remove('default', 'test', 'liar');
  await agents.put({ ...change, input: { url: other.url } });
  await assert.rejects(
    client('liar').send('secret', { taskId: asked.id }),
    /did not ask this question/,
  );
  assert.deepEqual(other.calls, []);
});

test('a register that is full: the gateway says that it is to blame, and the agent is told', async (t) => {
  const id = 'T'.repeat(200);
  let made = 0;
  const { url, called } = await liar(t, ({ method, say, answer, response }) => {
    if (method === 'tasks/cancel') return answer(taskOf('canceled'));
    const ids = { taskId: `${id}${++made}`, contextId: `${id}${made}` };
    say(statusOf('working', 'x', ids), statusOf('completed', 'y', ids));
    response.end();
  });
  const { client, register } = behind(t, { config: { liar: { url } } });
  register.db.exec('PRAGMA max_page_count = 1');
  let task: Task | undefined;
  for (let n = 0; n < 200 && task?.status.state !== 'failed'; n++) {
    task = (await client('liar').send('go')) as Task;
  }
  assert.match(JSON.stringify(task?.status.message), /The gateway could not store/);
  await called('tasks/cancel');
});

test('a task that is under way when its agent is removed is canceled there too', async (t) => {
  const { url, called } = await liar(t, ({ method, say, answer }) => {
    if (method === 'tasks/cancel') answer(taskOf('canceled'));
    else say(taskOf('working'), chunkOf('a', 'one'));
  });
  const { agents, client } = behind(t, { allowNetworks: ['127.0.0.0/8'] });
  const change = { workspace: 'default', actor: 'test', name: 'liar', create: true, verify: true };
  await agents.put({ ...change, input: { url } });
  for await (const { event } of client('liar').stream('go')) {
    if (event.kind !== 'artifact-update') continue;
    await agents.remove('default', 'test', 'liar');
    const { status } = await client('liar').cancel(event.taskId);
    assert.equal(status.state, 'canceled');
    break;
  }
  await called('tasks/cancel');
});

test('a card that does not come keeps a cancellation no longer than an agent may take to hear of it', async (t) => {
  let hangs = false;
  const liars = await liar(
    t,
    ({ say, response }) => {
      say(statusOf('input-required', 'Which one?'));
      response.end();
    },
    (origin) => (hangs ? undefined : cardOf(origin)),
  );
  const settings = { url: liars.url, limits: { cancelMs: 50 } };
  const { agents, client } = behind(t, { config: { liar: settings } });
  const asked = (await client('liar').send('go')) as Task;
  hangs = true;
  agents.use({ liar: { ...settings, tags: ['changed'] } });
  const begun = performance.now();
  const { status } = await client('liar').cancel(asked.id);
  assert.equal(status.state, 'canceled');
  assert.ok(performance.now() - begun < 5000);
});
