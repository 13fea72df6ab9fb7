// What one caller can do to everybody else: nothing that lasts longer than the request.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { MAX_JSON_NODES } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { type A2AAgent, bearerTokens, serve } from '../../src/server.ts';
import { webhookDelivery } from '../../src/http/webhook.ts';

const echo: A2AAgent = {
  profile: { name: 'Echo', description: 'Completes' },
  async *execute() {
    yield { kind: 'status-update', state: 'completed' };
  },
};

async function start(t: TestContext, agent = echo, durable = false): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-hostile-'));
  const store = durable ? { store: sqliteStore(path.join(folder, 'x.db')) } : {};
  const listening = await serve(agent, store).listen();
  t.after(async () => {
    await listening.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return listening.url;
}

async function call(url: string, params: string, id = '1', method = 'message/send') {
  const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  return (await response.json()) as { error?: { code: number; message: string }; result?: unknown };
}

const message = (extra: string, id = 'm') =>
  `{"message":{"kind":"message","messageId":"${id}","role":"user","parts":[{"kind":"text","text":"x"}]${extra}}}`;

/** The status of a request with these header lines, as they are written. */
async function statusOf(url: string, lines: readonly string[], path = '/tasks'): Promise<number> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(`GET ${path} HTTP/1.1\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1]);
}

test('a token with something behind it is no token, and Host and Authorization come once', async (t) => {
  const tokens = new Map([['ann', 'secret']]);
  const listening = await serve(echo, { authenticate: bearerTokens(tokens) }).listen();
  t.after(() => listening.close());
  const ask = (...lines: string[]) => statusOf(listening.url, ['Host: localhost', ...lines]);
  assert.equal(await ask('Authorization: Bearer secret'), 200);
  assert.equal(await ask('authorization:  bearer  secret '), 200);
  for (const value of [
    'Bearer secret junk',
    'Bearer secret, Bearer x',
    'Bearer  secret\tx',
    'Bearersecret',
    'Bearer',
    'secret',
    'Basic secret',
  ]) {
    assert.equal(await ask(`Authorization: ${value}`), 401, value);
  }
  const good = 'Authorization: Bearer secret';
  assert.equal(await ask(good, 'AUTHORIZATION: Bearer other'), 400);
  assert.equal(await ask(good, good), 400);
  assert.equal(await ask(good, 'Host: evil.example'), 400);
  assert.equal(await ask(good, 'hOST: localhost'), 400);
  const card = '/.well-known/agent-card.json';
  const twice = ['Host: localhost', 'Host: evil.example'];
  assert.equal(await statusOf(listening.url, twice, card), 400);
});

test('a million wrong items in a list are one complaint, made at once', async (t) => {
  const url = await start(t);
  const zeros = `[${'0,'.repeat(2_000_000)}0]`;
  for (const field of ['extensions', 'referenceTaskIds']) {
    const before = performance.now();
    const { error } = await call(url, message(`,"${field}":${zeros}`));
    assert.equal(error?.code, -32602);
    assert.ok(error.message.includes('256 strings'), error.message);
    assert.ok(performance.now() - before < 3000);
  }
});

test('JSON with more objects, arrays and keys than anybody needs is refused', async (t) => {
  const url = await start(t);
  const keys = Array.from({ length: MAX_JSON_NODES + 1 }, (_, at) => `"k${at}":1`).join();
  assert.equal((await call(url, message(`,"metadata":{${keys}}`))).error?.code, -32600);
  const objects = '{},'.repeat(MAX_JSON_NODES);
  assert.equal(
    (await call(url, message(`,"metadata":{"list":[${objects}{}]}`))).error?.code,
    -32600,
  );
  const numbers = '1,'.repeat(500_000);
  const many = await call(url, message(`,"metadata":{"list":[${numbers}1]}`));
  assert.ok(many.result, 'a long list of numbers is fine');
});

test('ids and tenants have a length, and are Unicode that every store can hold', async (t) => {
  const url = await start(t, echo, true);
  const long = 'x'.repeat(257);
  const wrong = [
    message('', long),
    message('', String.raw`a\ud800`),
    message(String.raw`,"contextId":"c\ud800"`),
    `${message('').slice(0, -1)},"tenant":"${long}"}`,
    `${message('').slice(0, -1)},"tenant":"\\ud800"}`,
  ];
  for (const params of wrong) assert.equal((await call(url, params)).error?.code, -32602, params);
  assert.equal((await call(url, message(''), `"${long}"`)).error?.code, -32600);
});

/** Makes an artifact of so many chunks of a megabyte. */
const large: A2AAgent = {
  profile: { name: 'Large', description: 'Makes large artifacts' },
  async *execute() {
    const parts = [{ kind: 'text' as const, text: 'x'.repeat(1024 * 1024) }];
    for (let count = 0; count < 24; count++) {
      yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts }, append: count > 0 };
    }
  },
};

test('a page of large tasks ends early, and the next one goes on', async (t) => {
  const url = await start(t, large, true);
  for (const id of ['a', 'b', 'c', 'd']) assert.ok((await call(url, message('', id))).result);
  const seen: string[] = [];
  let token = '';
  let pages = 0;
  do {
    const params = JSON.stringify({ includeArtifacts: true, ...(token && { pageToken: token }) });
    const { result } = await call(url, params, '1', 'ListTasks');
    const page = result as { tasks: { id: string }[]; nextPageToken: string };
    seen.push(...page.tasks.map(({ id }) => id));
    token = page.nextPageToken;
    pages++;
  } while (token !== '');
  assert.equal(new Set(seen).size, 4);
  assert.equal(seen.length, 4);
  assert.equal(pages, 4, 'each is more than a page, and comes all the same');

  const log = await (await fetch(`${url}/tasks/${seen[0]}/events`)).json();
  const { events, nextAfter } = log as { events: unknown[]; nextAfter?: number };
  assert.ok(events.length < 26 && nextAfter !== undefined, 'a page of a log ends early, too');
});

test('a webhook that answers 101 is a failure, not a wait without end', async (t) => {
  const server: Server = createServer();
  server.on('connection', (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    socket.on('error', () => {});
    t.after(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const deliver = webhookDelivery({ allowNetworks: ['127.0.0.0/8'], timeoutMs: 20_000 });
  const config = { id: 'c', url: `http://127.0.0.1:${port}/` };
  const status = { state: 'completed' as const };
  const event = { kind: 'task' as const, id: 't', contextId: 'c', status };
  const post = await deliver.prepare({
    record: { taskId: 't', config, version: '1.0', progress: { cursor: 0, attempts: 0 } },
    entry: { seq: 1, event, text: () => '{}' } as never,
    task: async () => event,
  });
  assert.ok(post);
  await assert.rejects(
    post(AbortSignal.timeout(15_000), async () => {}),
    /without a response/,
  );
});
