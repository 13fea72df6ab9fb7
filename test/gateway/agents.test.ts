// What a caller gets from an agent behind the gateway, whatever the agent speaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerText, connect } from '../../src/client/index.ts';
import { textOf, type SendResult, type Task } from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { interopAgent, PNG } from '../interop/agent.ts';
import { startSdk03 } from '../interop/sdk-03-server.ts';
import { startSdk1 } from '../interop/sdk-1-server.ts';
import { collect, createGates, until, within } from '../interop/support.ts';
import { startBadNetwork } from '../support/bad-network.ts';
import { behind, remote } from './agents-support.ts';

function taskIn(answer: SendResult): Task {
  assert.ok(answer.kind === 'task', `a task, not ${answer.kind}`);
  return answer;
}

for (const only of ['0.3', '1.0'] as const) {
  for (const streaming of [true, false]) {
    const card = streaming ? {} : { capabilities: { streaming: false } };
    const what = `an agent of ${only} that ${streaming ? 'streams' : 'does not stream'}`;

    test(`${what} does a task, in our ids`, async (t) => {
      const { url } = await remote(t, interopAgent(createGates()), { only, card });
      const { client } = behind(t, { config: { theirs: { url } } });
      const task = taskIn(await client('theirs').send('count 5'));
      assert.equal(task.status.state, 'completed');
      assert.equal(answerText(task), '1 2 3 4 5 ');
      assert.equal(task.history?.[0]?.taskId, task.id);
      assert.equal(task.history[0].contextId, task.contextId);
    });

    test(`${what} asks, and gets the answers in the same task`, async (t) => {
      const { url } = await remote(t, interopAgent(createGates()), { only, card });
      const { client } = behind(t, { config: { theirs: { url } } });
      const agent = client('theirs');
      const asked = taskIn(await agent.send('ask'));
      assert.equal(asked.status.state, 'input-required');
      assert.equal(textOf(asked.status.message?.parts ?? []), 'Which city?');
      const again = taskIn(await agent.send('Oslo', { taskId: asked.id }));
      assert.equal(again.status.state, 'input-required');
      assert.equal(textOf(again.status.message?.parts ?? []), 'Which day?');
      const done = taskIn(await agent.send('Monday', { taskId: asked.id }));
      assert.equal(done.status.state, 'completed');
      assert.equal(answerText(done), 'Sunny in Oslo on Monday');
    });

    test(`${what} may reject, demand a login, fail, and answer with a message`, async (t) => {
      const { url } = await remote(t, interopAgent(createGates()), { only, card });
      const { client } = behind(t, { config: { theirs: { url } } });
      const agent = client('theirs');
      const states = [];
      for (const text of ['raw reject', 'raw login', 'fail', 'ping']) {
        const task = taskIn(await agent.send(text));
        states.push([task.status.state, textOf(task.status.message?.parts ?? [])]);
      }
      assert.deepEqual(states[0], ['rejected', 'not today']);
      assert.deepEqual(states[1], ['auth-required', 'please log in']);
      assert.equal(states[2]?.[0], 'failed');
      assert.deepEqual(states[3], ['completed', 'pong']);
    });
  }
}

test('parts come and go as they are: files, data, metadata', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const { client } = behind(t, { config: { theirs: { url } } });
  const parts = [
    { kind: 'text' as const, text: 'raw copy', metadata: { tone: 'calm' } },
    { kind: 'file' as const, file: { bytes: PNG, mimeType: 'image/png', name: 'a.png' } },
    { kind: 'data' as const, data: { n: [1, null] } },
  ];
  const task = taskIn(await client('theirs').send(parts));
  assert.deepEqual(task.artifacts?.[0]?.parts, parts);
  assert.equal(task.artifacts?.[0]?.name, 'copy');
});

test('chunks stay chunks: ids, append, lastChunk and metadata', async (t) => {
  const chunks = createAgent({ name: 'Chunks', description: '' }, async function* () {
    const artifact = (text: string) => ({
      artifactId: 'a1',
      parts: [{ kind: 'text' as const, text }],
    });
    yield { kind: 'artifact-update', artifact: artifact('one '), metadata: { n: 1 } };
    yield { kind: 'artifact-update', artifact: artifact('two'), append: true, lastChunk: true };
  });
  const { url } = await remote(t, chunks);
  const { client } = behind(t, { config: { theirs: { url } } });
  const items = await collect(client('theirs').stream('go'));
  const updates = items.flatMap(({ event }) => (event.kind === 'artifact-update' ? [event] : []));
  assert.deepEqual(
    updates.map(({ artifact, append, lastChunk, metadata }) => [
      artifact.artifactId,
      textOf(artifact.parts),
      append ?? false,
      lastChunk ?? false,
      metadata,
    ]),
    [
      ['a1', 'one ', false, false, { n: 1 }],
      ['a1', 'two', true, true, undefined],
    ],
  );
  const [first] = items;
  assert.ok(first?.event.kind === 'task');
  for (const { taskId, contextId } of updates) {
    assert.equal(taskId, first.event.id);
    assert.equal(contextId, first.event.contextId);
  }
});

for (const [name, start] of [
  ['0.3', startSdk03],
  ['1.0', startSdk1],
] as const) {
  test(`a server of the ${name} SDK: a stream, a question, a rejection, a message`, async (t) => {
    const { url } = await start(t, createGates());
    const { client } = behind(t, { config: { theirs: { url } } });
    const agent = client('theirs');
    const streamed = agent.stream('count 4');
    assert.equal(await streamed.text(), '1 2 3 4 ');
    const asked = taskIn(await agent.send('ask'));
    assert.equal(asked.status.state, 'input-required');
    const told = agent.stream('Rome', { taskId: asked.id });
    assert.equal(await told.text(), 'Sunny in Rome');
    assert.equal(told.task?.status.state, 'completed');
    assert.equal(taskIn(await agent.send('reject')).status.state, 'rejected');
    assert.equal(answerText(await agent.send('ping')), 'pong');
  });
}

test('a new task in the same context is in the same context of the agent; another workspace has its own', async (t) => {
  const seen: string[] = [];
  const listener = createAgent({ name: 'L', description: '' }, async function* (context) {
    seen.push(context.contextId);
    yield 'ok';
  });
  const { url } = await remote(t, listener);
  const { client } = behind(t, { config: { theirs: { url } } });
  const agent = client('theirs');
  const contextId = 'chosen-by-the-caller';
  await agent.send('one', { contextId });
  await agent.send('two', { contextId });
  await client('theirs', 'others').send('three', { contextId });
  assert.equal(seen[0], seen[1]);
  assert.notEqual(seen[0], seen[2]);
});

test('the same message id from two workspaces is two messages', async (t) => {
  const echo = createAgent({ name: 'Echo', description: '' }, async function* ({ text }) {
    yield text;
  });
  const { url } = await remote(t, echo);
  const { client } = behind(t, { config: { theirs: { url } } });
  const message = (text: string) => ({ messageId: 'm1', parts: [{ kind: 'text' as const, text }] });
  const ours = await client('theirs', 'a').send(message('of a'));
  const theirs = await client('theirs', 'b').send(message('of b'));
  assert.deepEqual([answerText(ours), answerText(theirs)], ['of a', 'of b']);
});

test("active extensions and the trace go along, the caller's words of itself do not", async (t) => {
  const headers: Record<string, string | undefined>[] = [];
  const { url, server } = await remote(t, interopAgent(createGates()));
  server.prependListener('request', ({ headers: { traceparent, authorization }, url: path }) => {
    if (path === '/') headers.push({ traceparent, authorization } as Record<string, string>);
  });
  const config = { theirs: { url, headers: { Authorization: 'Bearer of-the-gateway' } } };
  const { client } = behind(t, { config });
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const uri = 'https://parley.test/extensions/tone';
  const extensions = [uri, 'https://else.where/ext'];
  const answer = await client('theirs', 'default', trace).send('who', { extensions });
  assert.equal(answerText(answer), `nobody with ${uri}`);
  assert.deepEqual(headers, [{ traceparent: trace, authorization: 'Bearer of-the-gateway' }]);
});

test("the gateway's own door sends a task to the agent that its metadata names", async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const { client } = behind(t, { config: { theirs: { url } } });
  const task = taskIn(await client().send('count 2', { metadata: { agent: 'theirs' } }));
  assert.equal(answerText(task), '1 2 ');
  const refused = client().send('count 2', { metadata: { agent: 'nobody' } });
  await assert.rejects(refused, /There is no agent nobody/);
});

test('a cancellation reaches the agent, while it works and while it asks', async (t) => {
  const told: string[] = [];
  const agent = createAgent({ name: 'Slow', description: '' }, async function* (context) {
    if (context.text === 'ask') await context.ask('Well?');
    context.signal.addEventListener('abort', () => told.push(context.text));
    yield 'begun';
    await new Promise((_, reject) => {
      context.signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
  });
  const { url } = await remote(t, agent);
  const theirs = await connect(url);
  const { client } = behind(t, { config: { theirs: { url } } });
  const ours = client('theirs');
  const stream = ours.stream('work');
  for await (const { event } of stream) {
    if (event.kind === 'artifact-update') break;
  }
  const canceled = await ours.cancel(stream.task!.id);
  assert.equal(canceled.status.state, 'canceled');
  assert.deepEqual(told, ['work']);
  const asked = taskIn(await ours.send('ask'));
  assert.equal((await ours.cancel(asked.id)).status.state, 'canceled');
  const { tasks } = await theirs.list();
  assert.deepEqual(
    tasks.map(({ status }) => status.state),
    ['canceled', 'canceled'],
  );
});

test('a network that breaks again and again loses and repeats nothing', async (t) => {
  const { port } = await remote(
    t,
    createAgent({ name: 'N', description: '' }, async function* () {
      for (let n = 0; n < 3000; n++) {
        yield `${n} `;
        if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  );
  const network = await startBadNetwork(t, () => port);
  const { agents, client } = behind(t, { config: { theirs: { url: network.url } } });
  await agents.find('default', 'theirs')!.fetchCard();
  let budget = 30_000;
  network.allow(() => (budget += 30_000));
  const stream = client('theirs').stream('go');
  let text = '';
  for await (const piece of stream.textChunks()) text += piece;
  assert.equal(text, Array.from({ length: 3000 }, (_, n) => `${n} `).join(''));
  assert.ok(network.cuts() >= 2, `it was cut ${network.cuts()} times`);
});

test('a subscription that gives a snapshot only: what was missed is appended, once', async (t) => {
  const gates = createGates();
  const { url, cut } = await startSdk03(t, gates);
  const { client } = behind(t, { config: { theirs: { url } } });
  const stream = client('theirs').stream('hold gate');
  let text = '';
  const reading = (async () => {
    for await (const piece of stream.textChunks()) {
      text += piece;
      if (text === 'begun ') {
        cut();
        gates.open('gate');
        gates.open('gate again');
      }
    }
  })();
  await within('the whole text', reading, 15_000);
  assert.equal(text, 'begun and done');
  assert.equal(stream.task?.status.state, 'completed');
});

test('an agent that is not there, or wants other credentials, or refuses: a failed task that says so', async (t) => {
  const { url } = await remote(t, interopAgent(createGates(), true), {});
  const gone = await remote(t, interopAgent(createGates()));
  await gone.close();
  const closed = await remote(t, interopAgent(createGates()), {
    authenticate: () => undefined,
  });
  const config = {
    gone: { url: gone.url },
    closed: { url: closed.url },
    picky: { url },
  };
  const { client } = behind(t, { config });
  const reasons: Record<string, string> = {};
  for (const name of Object.keys(config)) {
    const { status } = taskIn(await client(name).send('count 1'));
    assert.equal(status.state, 'failed');
    reasons[name] = textOf(status.message?.parts ?? []);
  }
  assert.match(reasons['gone']!, /^The agent gone is unreachable \(ECONNREFUSED\)\.$/);
  assert.match(
    reasons['closed']!,
    /^The agent closed does not accept the gateway's credentials\.$/,
  );
  assert.match(reasons['picky']!, /^The agent picky refused the request: /);
  for (const reason of Object.values(reasons)) assert.doesNotMatch(reason, /127\.0\.0\.1|http:/);
});

test('an agent that sends too much is given up, and told so', async (t) => {
  const canceled = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Much', description: '' }, async function* ({ signal }) {
    signal.addEventListener('abort', () => canceled.resolve());
    for (;;) {
      signal.throwIfAborted();
      yield 'x'.repeat(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const { url } = await remote(t, agent);
  const { client } = behind(t, {
    config: { theirs: { url, limits: { maxContentLength: 50_000 } } },
  });
  const { status } = taskIn(await client('theirs').send('go'));
  assert.equal(status.state, 'failed');
  assert.match(textOf(status.message?.parts ?? []), /failed: it sent content longer than 50000/);
  await within('the cancellation', canceled.promise);
});

test('an agent that says nothing new for too long is given up', async (t) => {
  const gates = createGates();
  const { url } = await remote(t, interopAgent(gates));
  const { client } = behind(t, { config: { theirs: { url, limits: { quietMs: 100 } } } });
  const { status } = taskIn(await client('theirs').send('hold for-ever'));
  assert.equal(status.state, 'failed');
  assert.match(textOf(status.message?.parts ?? []), /sent nothing new within 100 ms/);
});

test('a message to a task whose agent was taken away is refused, and the task waits on', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const { client, agents } = behind(t, { config: { theirs: { url } } });
  const asked = taskIn(await client('theirs').send('ask'));
  agents.use({});
  await assert.rejects(client('theirs').send('Oslo', { taskId: asked.id }), /no longer exists/);
  agents.use({ theirs: { url } });
  const next = taskIn(await client('theirs').send('Oslo', { taskId: asked.id }));
  assert.equal(textOf(next.status.message?.parts ?? []), 'Which day?');
});

test('another configuration does not touch what is under way', async (t) => {
  const gates = createGates();
  const { url } = await remote(t, interopAgent(gates));
  const { client, agents } = behind(t, { config: { theirs: { url } } });
  const stream = client('theirs').stream('hold gate');
  const text = stream.text();
  await until(
    'the task',
    () => stream.task?.artifacts?.length ?? 0,
    (count) => count > 0,
  );
  agents.use({});
  gates.open('gate');
  assert.equal(await text, 'begun done');
});
