import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fetchNamedBy, guardedFetch } from './guarded-fetch.ts';

async function serving(t: TestContext, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('private addresses are closed, by number and by name, and nothing is sent to them', async (t) => {
  let asked = 0;
  const port = await serving(t, (_, response) => {
    asked += 1;
    response.end();
  });
  const closed = guardedFetch();
  for (const host of ['127.0.0.1', '[::1]', 'localhost', '0x7f.1', '2130706433']) {
    await assert.rejects(closed(`http://${host}:${port}/`), host);
  }
  await assert.rejects(closed('file:///etc/passwd'), /only http and https/);
  assert.equal(asked, 0);
});

test('an opened network is reached, with method, headers and body, and the response is passed on unchanged', async (t) => {
  const port = await serving(t, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      response.writeHead(201, {
        'x-said': [String(request.method), String(request.headers['x-key'])],
      });
      response.end(body.toUpperCase());
    });
  });
  const open = guardedFetch({ allowNetworks: ['127.0.0.0/8'] });
  const init = { method: 'POST', headers: { 'x-key': 'k' }, body: 'hello' };
  const response = await open(`http://127.0.0.1:${port}/`, init);
  assert.deepEqual(
    [response.status, response.headers.get('x-said'), await response.text()],
    [201, 'POST, k', 'HELLO'],
  );
});

test('a redirect is not followed: the key was meant for this host', async (t) => {
  const port = await serving(t, (_, response) => {
    response.writeHead(302, { location: 'http://elsewhere.example/' }).end();
  });
  const open = guardedFetch({ allowNetworks: ['127.0.0.0/8'] });
  const response = await open(`http://127.0.0.1:${port}/`);
  assert.deepEqual([response.status, await response.text()], [302, '']);
});

test('a redirect of the own server is not followed either', async (t) => {
  const asked: (string | undefined)[] = [];
  const port = await serving(t, ({ url }, response) => {
    asked.push(url);
    response.writeHead(302, { location: '/private' }).end();
  });
  const address = `http://127.0.0.1:${port}/`;
  const own = fetchNamedBy(address);
  for (const init of [undefined, { redirect: 'follow' }, { redirect: 'manual' }] as const) {
    assert.equal((await own(address, init)).status, 302);
  }
  assert.equal((await own(new Request(address))).status, 302);
  await assert.rejects(own(address, { redirect: 'error' }), TypeError);
  assert.deepEqual(new Set(asked), new Set(['/']));
});

test('the signal ends a request, and an answer that is being read', async (t) => {
  const port = await serving(t, (request, response) => {
    if (request.url === '/begun') response.write('a');
  });
  const open = guardedFetch({ allowNetworks: ['127.0.0.0/8'] });
  const silent = new AbortController();
  const waiting = open(`http://127.0.0.1:${port}/`, { signal: silent.signal });
  silent.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  const begun = new AbortController();
  const response = await open(`http://127.0.0.1:${port}/begun`, { signal: begun.signal });
  begun.abort();
  await assert.rejects(response.text());
});

test('the signal still works after a garbage collection, in the options and in a Request', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const port = await serving(t, (_, response) => response.write('a'));
  const open = guardedFetch({ allowNetworks: ['127.0.0.0/8'] });
  const url = `http://127.0.0.1:${port}/`;
  const begun = new AbortController();
  const { signal } = begun;
  const responses = [await open(url, { signal }), await open(new Request(url, { signal }))];
  for (let round = 0; round < 5; round++) {
    await delay(1);
    collect();
  }
  begun.abort();
  for (const response of responses) {
    const read = response.text().then(
      () => 'read',
      () => 'aborted',
    );
    assert.equal(await Promise.race([read, delay(5000, 'nothing')]), 'aborted');
  }
});

test('a status that is not an HTTP status is an error, and the connection is closed', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const port = await serving(t, (request, response) => {
    request.socket.once('close', resolve);
    response.writeHead(999);
    response.write('a part of the body');
  });
  const open = guardedFetch({ allowNetworks: ['127.0.0.0/8'] });
  await assert.rejects(open(`http://127.0.0.1:${port}/`), /invalid status 999/);
  await closed;
});
