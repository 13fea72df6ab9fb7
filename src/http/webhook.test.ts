import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import dns from 'node:dns';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { signingKeys } from '../base/signing/index.ts';
import {
  type ProtocolVersion,
  type PushNotificationConfig,
  type Task,
  type TaskEvent,
  v1,
} from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome } from '../tasks/index.ts';
import { Published } from '../tasks/log/published.ts';
import { webhookDelivery, type WebhookOptions, type WebhookRequest } from './webhook.ts';

async function target(t: TestContext, listener: RequestListener): Promise<number> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const { lookup } = dns;

function replaceLookup(by: unknown): void {
  Object.assign(dns, { lookup: by });
  syncBuiltinESMExports();
}

/** Until the end of the test every name is found at these addresses. */
function resolveTo(t: TestContext, ...addresses: string[]): void {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  replaceLookup((_name: string, _options: object, done: (...args: unknown[]) => void) => {
    setImmediate(done, null, found);
  });
  t.after(() => replaceLookup(lookup));
}

const open: WebhookOptions = { allowNetworks: ['127.0.0.0/8'] };
const never = new AbortController().signal;
const atOnce = async () => {};

const event: TaskEvent = {
  kind: 'status-update',
  taskId: 't',
  contextId: 'c',
  status: { state: 'working' },
  final: false,
};
const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };

function delivery(
  config: PushNotificationConfig,
  version: ProtocolVersion = '1.0',
  told: TaskEvent = event,
): Delivery {
  const progress = { cursor: 1, attempts: 0 };
  const record = { taskId: 't', config: { id: 'h', ...config }, version, progress };
  return { record, entry: new Published({ seq: 2, event: told }), task: async () => task };
}

async function post(
  url: string,
  options: WebhookOptions = open,
  signal = never,
): Promise<DeliveryOutcome> {
  const send = await webhookDelivery(options).prepare(delivery({ url }));
  assert.ok(send);
  return send(signal, atOnce);
}

/** What a receiver gets of a delivery. */
async function sent(t: TestContext, config: object, version?: ProtocolVersion, told?: TaskEvent) {
  const got: { method?: string | undefined; headers?: IncomingHttpHeaders; json?: unknown } = {};
  const port = await target(t, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      Object.assign(got, { method: request.method, headers: request.headers });
      got.json = JSON.parse(text);
      response.writeHead(202).end('ignored');
    });
  });
  const whole = { ...config, url: `http://127.0.0.1:${port}/a?b=c` };
  const send = await webhookDelivery(open).prepare(delivery(whole, version, told));
  assert.equal(await send?.(never, atOnce), 'taken');
  return got;
}

test('1.0 is sent the event itself', async (t) => {
  const { method, headers, json } = await sent(t, {});
  assert.equal(method, 'POST');
  assert.equal(headers?.['content-type'], 'application/a2a+json');
  assert.equal(headers?.['a2a-version'], '1.0');
  assert.deepEqual(json, v1.encodeEvent(event));
});

test('0.3 is sent the whole task when its status changes, and nothing for an artifact', async (t) => {
  const { headers, json } = await sent(t, {}, '0.3');
  assert.equal(headers?.['content-type'], 'application/json');
  assert.deepEqual(json, task);
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: 'x' }] };
  const chunk: TaskEvent = { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact };
  const config = { url: 'https://hook.example/' };
  assert.equal(await webhookDelivery().prepare(delivery(config, '0.3', chunk)), undefined);
  assert.ok(await webhookDelivery().prepare(delivery(config, '1.0', chunk)));
});

test('credentials go into headers: Bearer, Basic in clear or encoded, another scheme, a token', async (t) => {
  const encoded = Buffer.from('ann:secret').toString('base64');
  const cases = [
    [{ schemes: ['Bearer'], credentials: 'abc' }, 'Bearer abc'],
    [{ schemes: ['Basic'], credentials: 'ann:secret' }, `Basic ${encoded}`],
    [{ schemes: ['Basic'], credentials: encoded }, `Basic ${encoded}`],
    [{ schemes: ['Custom', 'Bearer'], credentials: 'abc' }, 'Bearer abc'],
    [{ schemes: ['Custom'], credentials: 'abc' }, 'Custom abc'],
    [{ schemes: ['Bearer'] }, undefined],
  ] as const;
  for (const [authentication, expected] of cases) {
    const { headers } = await sent(t, { token: 'tok', authentication });
    assert.equal(headers?.authorization, expected);
    assert.equal(headers?.['x-a2a-notification-token'], 'tok');
  }
});

test('a secret that does not fit into a header is refused', () => {
  for (const bad of [
    { token: 'a\r\nx-evil: 1' },
    { token: 'ü' },
    { authentication: { schemes: ['Bearer\n'], credentials: 'x' } },
    { authentication: { schemes: ['Bearer'], credentials: 'x\u0000' } },
  ]) {
    const config = { url: 'https://hook.example/', ...bad };
    assert.throws(() => webhookDelivery().accept(config, '1.0'), { kind: 'invalidParams' });
  }
});

test('a configuration keeps its id, or gets one: in 0.3 always the same', () => {
  const webhooks = webhookDelivery();
  const config = { url: 'https://hook.example/' };
  assert.equal(webhooks.accept({ ...config, id: 'own' }, '0.3').id, 'own');
  assert.equal(webhooks.accept(config, '0.3').id, 'default');
  assert.notEqual(webhooks.accept(config, '1.0').id, webhooks.accept(config, '1.0').id);
});

test('2xx is taken, 410 ends the webhook, every other status is tried again', async (t) => {
  let status = 0;
  let headers = {};
  const port = await target(t, (_request, response) => response.writeHead(status, headers).end());
  for (const [answer, outcome] of [
    [204, 'taken'],
    [410, 'gone'],
    [400, 'failed'],
    [404, 'failed'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const) {
    status = answer;
    const found = await post(`http://127.0.0.1:${port}/`);
    const expected =
      outcome === 'failed' ? { failed: `HTTP ${answer}`, retryAfterMs: undefined } : outcome;
    assert.deepEqual(found, expected, String(answer));
  }
  for (const [text, least, most] of [
    ['7', 7000, 7000],
    [new Date(Date.now() + 60_000).toUTCString(), 50_000, 60_000],
  ] as const) {
    headers = { 'retry-after': text };
    const outcome = await post(`http://127.0.0.1:${port}/`);
    assert.ok(typeof outcome === 'object');
    const { retryAfterMs = 0 } = outcome;
    assert.ok(retryAfterMs >= least && retryAfterMs <= most, text);
  }
  headers = { 'retry-after': 'soon' };
  const vague = await post(`http://127.0.0.1:${port}/`);
  assert.deepEqual(vague, { failed: 'HTTP 503', retryAfterMs: undefined });
});

test('requests are signed by the convention of Standard Webhooks, anew for each attempt', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keys = signingKeys(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const seen: { headers: IncomingHttpHeaders; text: string }[] = [];
  const port = await target(t, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      seen.push({ headers: request.headers, text });
      response.end();
    });
  });
  const config = { id: 'ä.b\r\n', url: `http://127.0.0.1:${port}/`, token: 'tok' };
  const send = await webhookDelivery(open, keys).prepare(delivery(config));
  for (let n = 0; n < 2; n++) assert.equal(await send?.(never, atOnce), 'taken');
  for (const { headers, text } of seen) {
    const id = headers['webhook-id'];
    assert.equal(id, 't.%C3%A4.b%0D%0A.2');
    const time = headers['webhook-timestamp'];
    assert.ok(Math.abs(Number(time) - Date.now() / 1000) < 60);
    const [version, signature = ''] = String(headers['webhook-signature']).split(',');
    assert.equal(version, 'v1a');
    const signed = Buffer.from(`${id}.${String(time)}.${text}`);
    assert.ok(verify(null, signed, publicKey, Buffer.from(signature, 'base64')));
    assert.equal(headers['x-a2a-notification-token'], 'tok');
  }
});

test('with everyEvent, 0.3 gets the whole task for an artifact, too', async () => {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: 'x' }] };
  const chunk: TaskEvent = { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact };
  const config = { url: 'https://hook.example/' };
  const bodies: string[] = [];
  const webhooks = webhookDelivery({
    everyEvent: true,
    deliver: async ({ body }) => void bodies.push(body),
  });
  const send = await webhooks.prepare(delivery(config, '0.3', chunk));
  assert.equal(await send?.(never, atOnce), 'taken');
  assert.deepEqual(JSON.parse(bodies[0] ?? ''), task);
});

test("one's own sender gets complete requests, and its answer counts", async () => {
  const sent: WebhookRequest[] = [];
  const outcomes: DeliveryOutcome[] = [];
  const webhooks = webhookDelivery({
    deliver: async (request) => {
      sent.push(request);
      return outcomes.pop();
    },
  });
  const send = await webhooks.prepare(delivery({ url: 'https://hook.example/', token: 'tok' }));
  assert.equal(await send?.(never, atOnce), 'taken');
  const outcome = { failed: 'the queue is full', retryAfterMs: 5 };
  outcomes.push(outcome);
  assert.deepEqual(await send?.(never, atOnce), outcome);
  assert.equal(sent.length, 2);
  const [{ headers, ...request } = { headers: {} }] = sent;
  const body = JSON.stringify(v1.encodeEvent(event));
  const url = 'https://hook.example/';
  assert.deepEqual(request, { id: 't.h.2', url, body, taskId: 't', configId: 'h', seq: 2 });
  assert.partialDeepStrictEqual(headers, {
    'webhook-id': 't.h.2',
    'x-a2a-notification-token': 'tok',
  });
  assert.throws(() => webhooks.accept({ url: 'http://127.0.0.1/' }, '1.0'), {
    kind: 'invalidParams',
  });
});

test('addresses that may never be called are refused before anything is sent', () => {
  const webhooks = webhookDelivery();
  for (const url of [
    'http://127.0.0.1/',
    'http://127.0.0.1:8080/x',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://api.localhost/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://0.0.0.0/',
    'http://0/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://%31%32%37.0.0.1/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:pass@example.org/',
    'not a url',
    '',
  ]) {
    assert.throws(
      () => webhooks.accept({ url }, '1.0'),
      { name: 'A2AError', kind: 'invalidParams' },
      url,
    );
  }
  for (const url of [
    'https://example.org/hook',
    'http://1.1.1.1:8080/',
    'http://[2606:4700::1]/',
  ]) {
    assert.doesNotThrow(() => webhooks.accept({ url }, '1.0'), url);
  }
});

test('a host name that resolves to a private address is not requested', async (t) => {
  let calls = 0;
  const port = await target(t, (_request, response) => {
    calls++;
    response.end();
  });
  for (const inside of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', '10.0.0.1']) {
    resolveTo(t, inside);
    await assert.rejects(post(`http://rebound.example:${port}/`, {}), /in a private network/);
  }
  assert.equal(calls, 0);
});

test('of several addresses of a host name only the allowed ones are used', async (t) => {
  const port = await target(t, (_request, response) => response.end());
  resolveTo(t, '::1', '127.0.0.1', '10.0.0.1');
  assert.equal(await post(`http://mixed.example:${port}/`), 'taken');
});

test('a pooled connection of the program is not reused', async (t) => {
  let calls = 0;
  const port = await target(t, (_request, response) => {
    calls++;
    response.end();
  });
  resolveTo(t, '127.0.0.1');
  // The program itself talks to the same name, and keeps the connection.
  const own = http.get(`http://inside.example:${port}/`, { agent: http.globalAgent });
  const [response] = (await once(own, 'response')) as [http.IncomingMessage];
  response.resume();
  await once(response, 'close');
  await assert.rejects(post(`http://inside.example:${port}/`, {}), /in a private network/);
  assert.equal(calls, 1);
  http.globalAgent.destroy();
});

test('redirects are not followed', async (t) => {
  let calls = 0;
  const port = await target(t, (_request, response) => {
    calls++;
    response.writeHead(307, { location: '/again' }).end();
  });
  const outcome = await post(`http://127.0.0.1:${port}/`);
  assert.deepEqual(outcome, { failed: 'HTTP 307', retryAfterMs: undefined });
  assert.equal(calls, 1);
});

test('a webhook that does not answer fails after the timeout, or when the signal is aborted', async (t) => {
  const port = await target(t, () => {});
  const url = `http://127.0.0.1:${port}/`;
  await assert.rejects(post(url, { ...open, timeoutMs: 30 }), { name: 'AbortError' });
  const stop = new AbortController();
  const sent = post(url, open, stop.signal);
  stop.abort();
  await assert.rejects(sent, { name: 'AbortError' });
});

test('a response that never ends counts as soon as its status is known', async (t) => {
  let closed: Promise<unknown> | undefined;
  const port = await target(t, (_request, response) => {
    closed = once(response, 'close');
    response.writeHead(200).write('x');
  });
  assert.equal(await post(`http://127.0.0.1:${port}/`), 'taken');
  await closed;
});

test('a refused connection rejects', async (t) => {
  const port = await target(t, () => {});
  const gone = http.createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port: free } = gone.address() as AddressInfo;
  gone.close();
  assert.notEqual(free, port);
  await assert.rejects(post(`http://127.0.0.1:${free}/`), { code: 'ECONNREFUSED' });
});
