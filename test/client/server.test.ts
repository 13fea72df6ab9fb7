/** The client and Parley's own server, over every version and binding, with and without a network that fails. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connect, local, type AgentClient } from '../../src/client/index.ts';
import type { Binding, ProtocolVersion } from '../../src/protocol/index.ts';
import { createAgent, serve, type A2AAgent, type Listening } from '../../src/server.ts';
import { startBadNetwork } from '../support/bad-network.ts';
import { collect } from './peer.ts';

const INTERFACES: [ProtocolVersion, Binding][] = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
];

const quiet = { info() {}, warn() {}, error() {}, debug() {} };

/** Repeats the words; `wait` waits until it is cancelled, `ask` asks back. */
function echo(): A2AAgent {
  return createAgent(
    { name: 'Echo', description: 'Repeats your words' },
    async function* (context) {
      const { text, signal } = context;
      if (text === 'wait') {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        signal.throwIfAborted();
      }
      if (text === 'ask') yield `you said ${(await context.ask('what?')).text}`;
      else for (const word of text.split(' ')) yield `${word} `;
    },
  );
}

const OPTIONS = {
  logger: quiet,
  push: { allowNetworks: ['127.0.0.0/8'] },
  extendedCard: { description: 'For friends' },
};

async function startServer(t: TestContext, agent = echo(), publicUrl?: string): Promise<Listening> {
  const server = serve(agent, { ...OPTIONS, ...(publicUrl !== undefined && { publicUrl }) });
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  return listening;
}

async function exercise(agent: AgentClient): Promise<void> {
  assert.equal(await agent.send('hello there').text(), 'hello there ');

  const stream = agent.stream('one two three');
  assert.deepEqual(await collect(stream.textChunks()), ['one ', 'two ', 'three ']);
  const { task } = stream;
  assert.equal(task?.status.state, 'completed');
  assert.equal((await agent.get(task.id)).status.state, 'completed');

  const question = agent.stream('ask', { contextId: task.contextId });
  await collect(question);
  assert.equal(question.task?.status.state, 'input-required');
  const { id: taskId } = question.task;
  assert.equal(await agent.stream('this', { taskId }).text(), 'you said this');

  const tasks = await collect(agent.listAll({ contextId: task.contextId, pageSize: 1 }));
  assert.deepEqual(
    tasks.map(({ id }) => id),
    [taskId, task.id],
  );

  const waiting = agent.stream('wait');
  for await (const { event } of waiting) {
    if (event.kind !== 'status-update' || event.status.state !== 'working') continue;
    const { taskId: id } = event;
    const config = { id: 'p', url: 'http://127.0.0.1:9/hook', token: 'secret' };
    await agent.setPushConfig(id, config);
    assert.equal((await agent.getPushConfig(id, 'p')).pushNotificationConfig.url, config.url);
    assert.equal((await agent.getPushConfig(id)).pushNotificationConfig.id, 'p');
    assert.equal((await agent.listPushConfigs(id)).length, 1);
    await agent.deletePushConfig(id, 'p');
    assert.deepEqual(await agent.listPushConfigs(id), []);
    assert.equal((await agent.cancel(id)).status.state, 'canceled');
  }
  assert.equal(waiting.task?.status.state, 'canceled');

  assert.equal((await agent.extendedCard()).description, 'For friends');
  await assert.rejects(agent.get('nobody knows'), { kind: 'taskNotFound' });
  await assert.rejects(agent.cancel(task.id), { kind: 'taskNotCancelable' });
  const again = agent.resubscribe(task.id);
  assert.equal(await again.text(), 'one two three ');
  const seen = agent.resubscribe(task.id, { after: stream.lastSeq });
  assert.equal(await seen.text(), 'one two three ');
}

for (const [version, binding] of INTERFACES) {
  test(`everything works over ${version} ${binding}`, async (t) => {
    const { url } = await startServer(t);
    await using agent = await connect(url, { version, binding });
    assert.deepEqual([agent.endpoint.version, agent.endpoint.binding], [version, binding]);
    await exercise(agent);
  });
}

for (const [version, binding] of INTERFACES) {
  test(`the kind and the code of a refused stream arrive over ${version} ${binding}`, async (t) => {
    const { url } = await startServer(t);
    const agent = await connect(url, { version, binding });
    t.after(() => agent.close());
    const unknown = { kind: 'taskNotFound', code: -32001 };
    await assert.rejects(collect(agent.stream('x', { taskId: 'nobody' })), unknown);
    await assert.rejects(collect(agent.resubscribe('nobody')), unknown);
    const done = await agent.send('x');
    assert.ok(done.kind === 'task');
    const over = { kind: 'unsupportedOperation', code: -32004 };
    await assert.rejects(collect(agent.stream('again', { taskId: done.id })), over);
  });
}

test('everything works in the same process', async (t) => {
  const server = serve(echo(), OPTIONS);
  t.after(() => server.close(0));
  await using agent = local(server.handler);
  await exercise(agent);
});

test('a local stream can be left while nothing happens', async (t) => {
  const server = serve(echo(), { logger: quiet });
  t.after(() => server.close(0));
  const agent = local(server.handler);
  const controller = new AbortController();
  const stream = agent.stream('wait', { signal: controller.signal });
  const reader = assert.rejects(collect(stream), { name: 'AbortError' });
  while (stream.task?.status.state !== 'working') await new Promise(setImmediate);
  controller.abort();
  await reader;
});

for (const [version, binding] of INTERFACES) {
  test(`a network that fails all the time costs ${version} ${binding} no event, and repeats none`, async (t) => {
    const count = 200;
    const agent = createAgent({ name: 'Counter', description: 'Counts' }, async function* () {
      for (let n = 1; n <= count; n++) {
        yield `${n} `;
        if (n % 10 === 0) await new Promise(setImmediate);
      }
    });
    let port = 0;
    const network = await startBadNetwork(t, () => port);
    ({ port } = await startServer(t, agent, network.url));
    await using client = await connect(network.url, {
      version,
      binding,
      retry: { delayMs: 1 },
    });
    network.allow(() => 2000 + Math.floor(Math.random() * 6000));
    const seqs: number[] = [];
    let text = '';
    const stream = client.stream('count', { retrySend: true });
    for await (const { event, seq } of stream) {
      seqs.push(seq ?? 0);
      if (event.kind !== 'artifact-update') continue;
      for (const part of event.artifact.parts) if (part.kind === 'text') text += part.text;
    }
    const all = Array.from({ length: count }, (_, n) => `${n + 1} `).join('');
    assert.equal(text, all);
    assert.deepEqual(
      seqs,
      seqs.map((_, n) => n + 1),
    );
    assert.ok(network.cuts() > 2, `${network.cuts()} cuts`);
  });
}

test('a client in the same process is held to the protocol like any other', async (t) => {
  const server = serve(echo(), OPTIONS);
  t.after(() => server.close());
  const agent = local(server.handler);
  await assert.rejects(agent.send([]), { kind: 'invalidParams' });
  await assert.rejects(agent.list({ pageSize: 1_000_000 }), { kind: 'invalidParams' });
  assert.equal((await agent.list()).totalSize, 0);
});

test('a question after some text is part of the result, whole and in chunks, and is not repeated', async (t) => {
  const trip = createAgent({ name: 'Trip', description: 'Plans' }, async function* (ctx) {
    if (ctx.text === 'look first') yield 'Let me see.';
    const { text } = await ctx.ask('Which city?');
    yield ` Off to ${text}!`;
  });
  const server = await serve(trip).listen(0);
  t.after(() => server.close());
  const agent = await connect(server.url);
  for (const [prompt, expected] of [
    ['look first', 'Let me see.\n\nWhich city?'],
    ['go', 'Which city?'],
  ] as const) {
    const asked = await agent.send(prompt);
    assert.equal(await agent.send(prompt).text(), expected);
    assert.equal(await agent.stream(prompt).text(), expected);
    assert.equal((await collect(agent.stream(prompt).textChunks())).join(''), expected);
    assert.ok(asked.kind === 'task');
    const answered = await agent.send('Rome', { taskId: asked.id }).text();
    assert.equal(answered, prompt === 'go' ? ' Off to Rome!' : 'Let me see. Off to Rome!');
  }
});
