import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { webhookDelivery, type WebhookOptions } from './webhook.ts';

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

function post(url: string, options: WebhookOptions = open, signal = never): Promise<number> {
  return webhookDelivery(options).send({ url, headers: { 'x-own': '1' }, body: '"ü"' }, signal);
}

test('a delivery is a POST with the headers and the body, and resolves with the status', async (t) => {
  const port = await target(t, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const right =
        method === 'POST' && url === '/a?b=c' && headers['x-own'] === '1' && text === '"ü"';
      response.writeHead(right ? 202 : 500).end('ignored');
    });
  });
  assert.equal(await post(`http://127.0.0.1:${port}/a?b=c`), 202);
});

test('addresses that may never be called are refused before anything is sent', () => {
  const delivery = webhookDelivery();
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
    assert.throws(() => delivery.check(url), { name: 'A2AError', kind: 'invalidParams' }, url);
  }
  for (const url of [
    'https://example.org/hook',
    'http://1.1.1.1:8080/',
    'http://[2606:4700::1]/',
  ]) {
    assert.doesNotThrow(() => delivery.check(url), url);
  }
});

test('a name that leads inside when it is called is not called', async (t) => {
  let calls = 0;
  const port = await target(t, (_request, response) => {
    calls++;
    response.end();
  });
  for (const inside of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', '10.0.0.1']) {
    resolveTo(t, inside);
    await assert.rejects(post(`http://rebound.example:${port}/`, {}), /network that is closed/);
  }
  assert.equal(calls, 0);
});

test('of several addresses of a name only the open ones are called', async (t) => {
  const port = await target(t, (_request, response) => response.end());
  resolveTo(t, '::1', '127.0.0.1', '10.0.0.1');
  assert.equal(await post(`http://mixed.example:${port}/`), 200);
});

test('a connection that somebody else has open is not used', async (t) => {
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
  await assert.rejects(post(`http://inside.example:${port}/`, {}), /network that is closed/);
  assert.equal(calls, 1);
  http.globalAgent.destroy();
});

test('redirects are not followed', async (t) => {
  let calls = 0;
  const port = await target(t, (_request, response) => {
    calls++;
    response.writeHead(307, { location: '/again' }).end();
  });
  assert.equal(await post(`http://127.0.0.1:${port}/`), 307);
  assert.equal(calls, 1);
});

test('a webhook that does not answer is given up in time, or when the signal says so', async (t) => {
  const port = await target(t, () => {});
  const url = `http://127.0.0.1:${port}/`;
  await assert.rejects(post(url, { ...open, timeoutMs: 30 }), { name: 'AbortError' });
  const stop = new AbortController();
  const sent = post(url, open, stop.signal);
  stop.abort();
  await assert.rejects(sent, { name: 'AbortError' });
});

test('a webhook whose answer never ends is done with its status', async (t) => {
  let closed: Promise<unknown> | undefined;
  const port = await target(t, (_request, response) => {
    closed = once(response, 'close');
    response.writeHead(200).write('x');
  });
  assert.equal(await post(`http://127.0.0.1:${port}/`), 200);
  await closed;
});

test('nobody there is a rejection', async (t) => {
  const port = await target(t, () => {});
  const gone = http.createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port: free } = gone.address() as AddressInfo;
  gone.close();
  assert.notEqual(free, port);
  await assert.rejects(post(`http://127.0.0.1:${free}/`), { code: 'ECONNREFUSED' });
});
