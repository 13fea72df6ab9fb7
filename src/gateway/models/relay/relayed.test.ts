// Relayed answers of a vendor on loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { ModelError } from '../../../agent/index.ts';
import { VENDORS, type TimeoutOptions } from '../../../agent/internal/index.ts';
import type { Relay, RelayChunk } from './relay.ts';
import { relayed } from './relayed.ts';

const never = new AbortController().signal;

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    handle(request, response);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A relay that notes the events that it reads. */
function noting(read: object[] = []): Relay {
  return {
    accepts: () => true,
    stream: true,
    path: () => '/messages',
    body: (model) => ({ model }),
    watched: /"type":"(?:start|end)"/,
    read(event) {
      read.push(event);
      return event['type'] === 'end' ? { end: 'stop' } : {};
    },
  };
}

function relay(baseURL: string, request = noting(), options: TimeoutOptions = {}) {
  const vendor = VENDORS['anthropic']!;
  const target = { vendor, settings: { baseURL, apiKey: 'sk-1' }, model: 'm', name: 'p:m' };
  return relayed(request, { ...target, ...options }, never);
}

async function all(chunks: AsyncIterable<RelayChunk>) {
  let text = '';
  let finish: RelayChunk | undefined;
  for await (const chunk of chunks) {
    if (chunk.kind === 'raw') text += chunk.text;
    else finish = chunk;
  }
  return { text, finish };
}

function event(type: string, more: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}

const ANSWER = event('start') + event('delta', { text: 'Größe: 12 € 🎉' }) + event('end');

test('an answer that arrives byte by byte reaches the reader unchanged', async () => {
  await using vendor = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(ANSWER);
    let at = 0;
    const send = (): void => {
      if (at === bytes.length) response.end();
      else response.write(bytes.subarray(at, ++at), () => setImmediate(send));
    };
    send();
  });
  assert.deepEqual(await all(relay(vendor.baseURL)), {
    text: ANSWER,
    finish: { kind: 'finish', reason: 'stop' },
  });
});

test('only the events that the relay watches are parsed, and the events of a packet stay together', async () => {
  await using vendor = await serve((_request, response) => response.end(ANSWER));
  const read: object[] = [];
  const chunks = relay(vendor.baseURL, noting(read));
  assert.deepEqual((await chunks.next()).value, { kind: 'raw', text: ANSWER, usage: undefined });
  await all(chunks);
  assert.deepEqual(read, [{ type: 'start' }, { type: 'end' }]);
});

test('the connection is used again after a complete answer', async () => {
  await using vendor = await serve((_request, response) => response.end(ANSWER));
  for (let times = 0; times < 5; times++) await all(relay(vendor.baseURL));
  // undici opens a second one if the next request comes before it has put the first one back.
  assert.ok(vendor.sockets.size <= 2);
});

test('a slow reader pauses the vendor, and the vendor is not blamed for the pause', async () => {
  const part = event('delta', { text: 'x'.repeat(64 * 1024) });
  let sent = 0;
  const stuck = Promise.withResolvers<void>();
  await using vendor = await serve((_request, response) => {
    const send = (): void => {
      if (sent === 200) return void response.end(event('end'));
      sent++;
      if (response.write(part)) setImmediate(send);
      else {
        const timer = setTimeout(() => stuck.resolve(), 600);
        response.once('drain', () => {
          clearTimeout(timer);
          send();
        });
      }
    };
    send();
  });
  const limits = { idleTimeoutMs: 300, firstEventTimeoutMs: 10_000 };
  const chunks = relay(vendor.baseURL, noting(), limits);
  await chunks.next();
  await stuck.promise;
  assert.ok(sent < 200, 'the vendor could send everything');
  const { text, finish } = await all(chunks);
  assert.equal(finish?.kind, 'finish');
  assert.ok(text.endsWith(event('end')));
});

test('a vendor that is silent for too long is left', async () => {
  const closed = Promise.withResolvers<void>();
  await using vendor = await serve((_request, response) => {
    response.on('close', () => closed.resolve());
    response.write(event('start'));
  });
  const limits = { idleTimeoutMs: 30, firstEventTimeoutMs: 10_000 };
  const chunks = relay(vendor.baseURL, noting(), limits);
  await chunks.next();
  await assert.rejects(chunks.next(), /p:m sent nothing for 30 ms/);
  await closed.promise;
});

test('a reader that stops closes the connection', async () => {
  const closed = Promise.withResolvers<void>();
  await using vendor = await serve((_request, response) => {
    response.on('close', () => closed.resolve());
    response.write(event('start'));
  });
  for await (const _ of relay(vendor.baseURL)) break;
  await closed.promise;
});

const REFUSED: Readonly<Record<string, readonly [number, Record<string, string>, RegExp]>> = {
  'a redirect': [307, { location: '/elsewhere' }, /redirects \(307\).*check its base URL/],
  'a compressed answer': [200, { 'content-encoding': 'gzip' }, /compressed/],
  'an error': [429, { 'retry-after': '7' }, /rate limited \(429\).*in 7 s/],
};
for (const [what, [status, headers, message]] of Object.entries(REFUSED)) {
  test(`${what} is refused with an error that says why`, async () => {
    let requests = 0;
    await using vendor = await serve((_request, response) => {
      requests++;
      response.writeHead(status, headers).end(ANSWER);
    });
    await assert.rejects(all(relay(vendor.baseURL)), (error) => {
      assert(error instanceof ModelError);
      assert.match(error.message, message);
      return true;
    });
    assert.equal(requests, 1);
  });
}

test('an answer without its last event is an error, after the text that has arrived', async () => {
  await using vendor = await serve((_request, response) => response.end(event('start')));
  const chunks = relay(vendor.baseURL);
  assert.equal((await chunks.next()).value?.kind, 'raw');
  await assert.rejects(chunks.next(), /stopped in the middle of its answer/);
});
