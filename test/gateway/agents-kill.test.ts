// A gateway that is killed in the middle of an agent's answer, and clients that go on as if it had not been.
import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { textOf, type SendResult, type Task } from '../../src/protocol/index.ts';
import { createAgent, type A2AAgent } from '../../src/tasks/index.ts';
import { folder, start } from '../cli/support.ts';
import { interopAgent } from '../interop/agent.ts';
import { startSdk03 } from '../interop/sdk-03-server.ts';
import { startSdk1 } from '../interop/sdk-1-server.ts';
import { createGates, until, within, type Gates } from '../interop/support.ts';
import { remote } from './agents-support.ts';

interface GatewayProcess {
  readonly url: string;
  readonly key: string;
  kill(): Promise<void>;
  /** On the same port, with the same store. */
  restart(): Promise<void>;
}

let made = 0;

async function gatewayProcess(t: TestContext, agents: object): Promise<GatewayProcess> {
  const name = `gateway-${++made}`;
  const file = path.join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ agents }));
  const args = ['gateway', '--config', file, '--json'];
  const store = ['--store', `sqlite:${path.join(folder, `${name}.db`)}`];
  const open = async (port: number) => {
    const running = start([...args, ...store, '--port', String(port)]);
    const [line] = await running.saying(/^\{.*\}$/m);
    return { ...running, ready: JSON.parse(line) as { url: string; port: number; key?: string } };
  };
  let current = await open(0);
  const { url, port, key = '' } = current.ready;
  t.after(() => void current.child.kill('SIGKILL'));
  return {
    url,
    key,
    async kill() {
      current.child.kill('SIGKILL');
      await current.ended;
    },
    async restart() {
      current = await open(port);
    },
  };
}

function clientOf({ url, key }: GatewayProcess, version: '0.3' | '1.0' = '1.0') {
  return connect(`${url}/agents/theirs`, {
    version,
    headers: { authorization: `Bearer ${key}` },
    retry: { attempts: 60, delayMs: 50, maxDelayMs: 500 },
  });
}

function taskIn(answer: SendResult): Task {
  assert.ok(answer.kind === 'task', `a task, not ${answer.kind}`);
  return answer;
}

const WORDS = 1500;

/** Says its numbers; in the middle it waits for the test. */
function counting(gates: Gates): A2AAgent {
  return createAgent({ name: 'Counting', description: '' }, async function* ({ signal }) {
    for (let n = 0; n < WORDS; n++) {
      if (n === WORDS / 2) await gates.wait('middle', signal);
      yield `${n} `;
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });
}

for (const [what, card] of [
  ['streams', {}],
  ['does not stream', { capabilities: { streaming: false } }],
] as const) {
  test(`kill -9 while an agent that ${what} speaks: the client has every word, once`, async (t) => {
    const gates = createGates();
    const { url } = await remote(t, counting(gates), { card });
    const gateway = await gatewayProcess(t, { theirs: { url } });
    const client = await clientOf(gateway, '0.3');
    const stream = client.stream('go');
    const seqs: number[] = [];
    let text = '';
    let killed: Promise<void> | undefined;
    const reading = (async () => {
      for await (const { event, seq } of stream) {
        assert.ok(seq !== undefined);
        seqs.push(seq);
        if (event.kind === 'artifact-update') {
          if (event.append !== true) text = '';
          text += textOf(event.artifact.parts);
        }
        if (killed || !text.includes('100 ')) continue;
        killed = gateway.kill().then(() => {
          // The agent goes on while nobody listens.
          gates.open('middle');
          return gateway.restart();
        });
      }
    })();
    await within('the whole answer', reading, 60_000);
    assert.ok(killed, 'the gateway was killed while it streamed');
    const whole = Array.from({ length: WORDS }, (_, n) => `${n} `).join('');
    assert.equal(text, whole);
    assert.deepEqual(
      seqs,
      seqs.map((_, at) => at + 1),
      'neither gap nor repetition in the log',
    );
    const task = await client.get(stream.task!.id);
    assert.equal(task.status.state, 'completed');
    assert.equal(textOf(task.artifacts?.[0]?.parts ?? []), whole);
  });
}

for (const [name, startSdk] of [
  ['0.3', startSdk03],
  ['1.0', startSdk1],
] as const) {
  test(`kill -9 while a server of the ${name} SDK speaks, whose subscription is a snapshot`, async (t) => {
    const gates = createGates();
    const { url } = await startSdk(t, gates);
    const gateway = await gatewayProcess(t, { theirs: { url } });
    const client = await clientOf(gateway);
    const stream = client.stream('hold gate');
    let text = '';
    let killed: Promise<void> | undefined;
    for await (const piece of stream.textChunks()) {
      text += piece;
      killed ??= gateway.kill().then(async () => {
        gates.open('gate');
        await gateway.restart();
        gates.open('gate again');
      });
    }
    await killed;
    assert.equal(text, 'begun and done');
    assert.equal(stream.task?.status.state, 'completed');
  });
}

test('an answer that outlives the process of the gateway counts once, for the key that asked', async (t) => {
  const gates = createGates();
  const usage = { inputTokens: 20, outputTokens: 12 };
  const agent = createAgent({ name: 'Counted', description: '' }, async function* ({ signal }) {
    yield 'begun';
    await gates.wait('end', signal);
    const parts = [{ kind: 'text' as const, text: 'done' }];
    const said = { messageId: randomUUIDv7(), role: 'agent' as const, parts, metadata: { usage } };
    yield { kind: 'status-update', state: 'completed', message: { kind: 'message', ...said } };
  });
  const { url } = await remote(t, agent);
  const gateway = await gatewayProcess(t, { theirs: { url, usage: { tokens: 5 } } });
  const ask = async <Answer>(way: string, body?: object): Promise<Answer> => {
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${gateway.url}${way}`, { headers, ...sent });
    return (await response.json()) as Answer;
  };
  const makeKey = (fields: object) =>
    ask<{ key: { id: string }; secret: string }>('/a2a/keys', {
      scopes: ['agents:use'],
      ...fields,
    });
  // One key has a budget, so that the call is reserved. The other has none.
  const budget = { tokens: 100, period: 'day' };
  const limited = await makeKey({ name: 'limited', budget });
  const keys = [limited, await makeKey({ name: 'free' })];
  const clients = await Promise.all(
    keys.map(({ secret }) => clientOf({ ...gateway, key: secret })),
  );
  const streams = clients.map((client) => client.stream('go'));
  const texts = streams.map((stream) => stream.text());
  for (const stream of streams) {
    await until(
      'its first word',
      () => stream.task?.artifacts?.length ?? 0,
      (count) => count > 0,
    );
  }
  await gateway.kill();
  await gateway.restart();
  gates.open('end');
  assert.deepEqual(await within('the answers', Promise.all(texts), 30_000), ['begun', 'begun']);
  const rows = await until(
    'the usage',
    () => ask<{ items: { keyId?: string }[] }>('/a2a/usage'),
    ({ items }) => items.length === 2,
  );
  for (const { key } of keys) {
    const row = rows.items.find(({ keyId }) => keyId === key.id);
    assert.partialDeepStrictEqual(row, { agent: 'theirs', calls: 1, ...usage });
  }
  const status = await ask<object>(`/a2a/keys/${limited.key.id}/usage`);
  assert.partialDeepStrictEqual(status, { spent: { tokens: 32 } });
});

test('a question that is open when the gateway dies is answered after its restart, in the same task of the agent', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const gateway = await gatewayProcess(t, { theirs: { url } });
  const client = await clientOf(gateway);
  const asked = taskIn(await client.send('ask'));
  assert.equal(asked.status.state, 'input-required');
  await gateway.kill();
  await gateway.restart();
  const again = taskIn(await client.send('Oslo', { taskId: asked.id }));
  assert.equal(textOf(again.status.message?.parts ?? []), 'Which day?');
  const done = taskIn(await client.send('Monday', { taskId: asked.id }));
  assert.equal(textOf(done.artifacts?.[0]?.parts ?? []), 'Sunny in Oslo on Monday');
});

/** What the agent got: the parameters of `SendStreamingMessage`, and a header of the caller. */
interface Got {
  readonly params: { readonly metadata?: unknown };
  readonly user: string | string[] | undefined;
}

const WAITING = {
  id: 'theirs',
  contextId: 'theirs',
  status: {
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Where?' }] },
  },
};

/** A server with a card that takes messages and answers none until it is told to. */
async function silentServer(t: TestContext, answer: (text: string) => object | undefined) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}`;
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') {
      const offer = { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
      response.end(
        JSON.stringify({
          name: 'Silent',
          description: '',
          version: '1',
          supportedInterfaces: [offer],
          capabilities: { streaming: true },
          defaultInputModes: [],
          defaultOutputModes: [],
          skills: [],
        }),
      );
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body);
      const isMessage = method === 'SendStreamingMessage';
      if (isMessage) got.push({ params, user: request.headers['x-user'] });
      const result = isMessage ? answer(params.message.parts[0].text) : WAITING;
      if (result) response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

test('a message whose fate nobody knows is not sent twice: the task fails and says so', async (t) => {
  const { url, got } = await silentServer(t, () => undefined);
  const gateway = await gatewayProcess(t, { theirs: { url } });
  const client = await clientOf(gateway);
  const { id } = taskIn(await client.send('once', { configuration: { blocking: false } }));
  await until(
    'the message',
    () => got.length,
    (count) => count === 1,
  );
  await gateway.kill();
  await gateway.restart();
  const task = await until(
    'its end',
    () => client.get(id),
    ({ status }) => status.state === 'failed',
  );
  assert.match(
    textOf(task.status.message?.parts ?? []),
    /^The gateway was restarted before the agent theirs answered\. The message may have arrived/,
  );
  assert.equal(got.length, 1);
});

const HERE = { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'here' }] } };

/** Sends a message with everything that a request can have for the agent. Returns the task. */
async function sendWhole(gateway: GatewayProcess, message: object) {
  const client = await clientOf(gateway);
  const response = await fetch(`${gateway.url}/agents/theirs/message:send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      'x-user': 'ann',
    },
    body: JSON.stringify({
      message: { messageId: randomUUIDv7(), role: 'ROLE_USER', ...message },
      metadata: { project: 'x' },
      configuration: { returnImmediately: true, acceptedOutputModes: ['text/plain'] },
    }),
  });
  const { task } = (await response.json()) as { task: { id: string } };
  return { id: task.id, get: () => client.get(task.id) };
}

const stateIs =
  (state: string) =>
  ({ status }: Task) =>
    status.state === state;

test('an agent that is said to know its messages by their ids gets the whole request again, under the same id', async (t) => {
  let answers = false;
  const { url, got } = await silentServer(t, () => (answers ? HERE : undefined));
  const theirs = { url, deduplicates: true, forwardHeaders: ['x-user'] };
  const gateway = await gatewayProcess(t, { theirs });
  const { get } = await sendWhole(gateway, { parts: [{ text: 'twice' }] });
  await until(
    'the message',
    () => got.length,
    (count) => count === 1,
  );
  await gateway.kill();
  answers = true;
  await gateway.restart();
  const task = await until('its end', get, stateIs('completed'));
  assert.equal(textOf(task.status.message?.parts ?? []), 'here');
  assert.partialDeepStrictEqual(got[0], { params: { metadata: { project: 'x' } }, user: 'ann' });
  assert.deepEqual(got, [got[0], got[0]]);
});

test('an answer that did not arrive before the gateway died is sent again, with its whole request', async (t) => {
  let answers = true;
  const { url, got } = await silentServer(t, (text) => {
    if (text === 'ask') return { task: WAITING };
    return answers
      ? { task: { ...WAITING, status: { state: 'TASK_STATE_COMPLETED' } } }
      : undefined;
  });
  const gateway = await gatewayProcess(t, { theirs: { url, forwardHeaders: ['x-user'] } });
  const { id, get } = await sendWhole(gateway, { parts: [{ text: 'ask' }] });
  await until('its question', get, stateIs('input-required'));
  answers = false;
  await sendWhole(gateway, { parts: [{ text: 'Oslo' }], taskId: id });
  await until(
    'the answer',
    () => got.length,
    (count) => count === 2,
  );
  await gateway.kill();
  answers = true;
  await gateway.restart();
  await until('its end', get, stateIs('completed'));
  assert.partialDeepStrictEqual(got[1], { params: { metadata: { project: 'x' } }, user: 'ann' });
  assert.deepEqual(got[2], got[1]);
});
