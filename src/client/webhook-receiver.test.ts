import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import express from 'express';
import { temporarySigningKeys, type SigningKeys } from '../base/signing/index.ts';
import { A2AError, v03, v1, type Task } from '../protocol/index.ts';
import { ConnectionError } from './connection/errors.ts';
import {
  webhookReceiver,
  type Notification,
  type WebhookReceiverOptions,
} from './webhook-receiver.ts';
import { readNotification } from './webhook.ts';

const JWKS = 'https://agent.example/.well-known/jwks.json';
const KEYS = temporarySigningKeys();
const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } };

interface Sent {
  readonly id?: string;
  readonly seconds?: number;
  readonly keys?: SigningKeys;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** The body and the headers of a webhook, by the Standard Webhooks convention. */
function signed({ id = 't.default.1', seconds = 0, keys = KEYS, ...sent }: Sent = {}) {
  const { body = JSON.stringify(v1.encodeEvent(task)) } = sent;
  const timestamp = String(Math.floor(Date.now() / 1000) + seconds);
  const signature = keys.sign(`${id}.${timestamp}.${body}`).toString('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,ignored v1a,${signature}`,
    ...sent.headers,
  };
  return { method: 'POST', body, headers };
}

function request(sent?: Sent): Request {
  return new Request('http://me.test/hook', signed(sent));
}

/** A receiver that notes what it gets, and the key sets that it fetches. */
function receiving(options: Partial<WebhookReceiverOptions> = {}, published = () => KEYS) {
  const got: Notification[] = [];
  const asked: string[] = [];
  const receiver = webhookReceiver({
    jwks: JWKS,
    onError: (error) => assert.fail(String(error)),
    onEvent: (notification) => void got.push(notification),
    async fetch(source) {
      asked.push(new Request(source).url);
      return Response.json({ keys: published().publicKeys });
    },
    ...options,
  });
  const post = async (sent?: Sent) => (await receiver.fetch(request(sent))).status;
  return { receiver, post, got, asked };
}

test('a signed notification of either version is verified and handed over', async () => {
  const { post, got, asked } = receiving();
  assert.equal(await post({ id: 't.default.4' }), 204);
  assert.equal(await post({ id: 't.b.4', body: JSON.stringify(v03.encodeEvent(task)) }), 204);
  assert.deepEqual(
    got.map(({ id, seq, version, late, event }) => [id, seq, version, late, event.kind]),
    [
      ['t.default.4', 4, '1.0', false, 'task'],
      ['t.b.4', 4, '0.3', false, 'task'],
    ],
  );
  assert.deepEqual(asked, [JWKS]);
});

test('a notification that was changed, is old, or is signed by another, is refused', async () => {
  const { post, got } = receiving();
  const { body, headers } = signed();
  const forged = [
    signed({ keys: temporarySigningKeys() }),
    signed({ seconds: -301 }),
    signed({ seconds: 301 }),
    { body: body.replace('COMPLETED', 'CANCELED'), headers },
    { body, headers: { ...headers, 'webhook-id': 't.default.2' } },
    { body, headers: { ...headers, 'webhook-timestamp': `${headers['webhook-timestamp']}0` } },
    { body, headers: { ...headers, 'webhook-signature': '' } },
    { body, headers: { ...headers, 'webhook-signature': 'v1a,????' } },
  ];
  for (const { body: text, headers: fields } of forged) {
    assert.equal(await post({ body: text, headers: fields }), 401);
  }
  assert.deepEqual(got, []);
  assert.equal(await post(), 204);
});

test('an error of the handler is told to onError, and only a 500 to the sender', async () => {
  const errors: unknown[] = [];
  const failures = [
    new A2AError('invalidParams', 'private'),
    new ConnectionError('closed', 'private'),
    new Error('private'),
  ];
  for (const failure of failures) {
    const { receiver } = receiving({
      onError: (error) => void errors.push(error),
      onEvent: () => Promise.reject(failure),
    });
    const response = await receiver.fetch(request());
    assert.deepEqual([response.status, await response.text()], [500, '']);
  }
  assert.deepEqual(errors, failures);
});

test('a notification that comes again is answered, and not handed over again', async () => {
  const { post, got } = receiving();
  for (const id of ['t.c.1', 't.c.2', 't.c.1', 't.c.2', 't.c.7', 't.other.1']) {
    assert.equal(await post({ id }), 204);
  }
  assert.deepEqual(
    got.map(({ id }) => id),
    ['t.c.1', 't.c.2', 't.c.7', 't.other.1'],
  );
});

test('a server cannot suppress or reorder the notifications of another server', async () => {
  const others = temporarySigningKeys();
  const theirs = 'https://other.example/.well-known/jwks.json';
  const { post, got } = receiving({
    jwks: [JWKS, theirs],
    fetch: async (source) => {
      const keys = new Request(source).url === JWKS ? KEYS : others;
      return Response.json({ keys: keys.publicKeys });
    },
  });
  for (const id of ['t.c.1', 't.c.999']) assert.equal(await post({ id, keys: others }), 204);
  for (const id of ['t.c.1', 't.c.2', 't.c.2']) assert.equal(await post({ id }), 204);
  assert.deepEqual(
    got.slice(2).map(({ id, late }) => [id, late]),
    [
      ['t.c.1', false],
      ['t.c.2', false],
    ],
  );
});

test('an id that comes again with other content is not a repetition', async () => {
  const { post, got } = receiving();
  const other = JSON.stringify(v1.encodeEvent({ ...task, status: { state: 'failed' } }));
  for (const body of [undefined, other, other]) {
    assert.equal(await post({ id: 't.c.3', ...(body !== undefined && { body }) }), 204);
  }
  assert.deepEqual(
    got.map(({ event }) => event.kind === 'task' && event.status.state),
    ['completed', 'failed'],
  );
});

test('an id that names another task than the event has no place in the order of that task', async () => {
  const { post, got } = receiving();
  for (const id of ['other.c.9', 't.c.1', 'other.c.9']) assert.equal(await post({ id }), 204);
  assert.deepEqual(
    got.map(({ id, seq }) => [id, seq]),
    [
      ['other.c.9', undefined],
      ['t.c.1', 1],
    ],
  );
});

test('a webhook whose events are handled too slowly does not take the room of others', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { post } = receiving({
    maxBytes: 1000,
    maxPending: 6,
    onEvent: ({ id }) => (id?.startsWith('t.slow.') ? promise : undefined),
  });
  const statuses: number[] = [];
  const refused = Promise.withResolvers<void>();
  // Which two are refused depends on whose signatures are checked first.
  const slow = Array.from({ length: 6 }, async (_, n) => {
    statuses.push(await post({ id: `t.slow.${n}` }));
    if (statuses.length === 2) refused.resolve();
  });
  await refused.promise;
  assert.deepEqual(statuses, [503, 503]);
  assert.equal(await post({ id: 't.fast.1' }), 204);
  resolve();
  await Promise.all(slow);
  assert.deepEqual(statuses.slice(2), [204, 204, 204, 204]);
  assert.equal(await post({ id: 't.slow.6' }), 204);
});

test('an id without a signature is bounded, too', async () => {
  const { post } = receiving({ jwks: undefined, token: 'right' });
  const headers = { 'x-a2a-notification-token': 'right' };
  assert.equal(await post({ id: 'x'.repeat(4097), headers }), 400);
  assert.equal(await post({ id: 'x'.repeat(4096), headers }), 204);
});

test('an event that the server had given up comes late, and says so', async () => {
  const { post, got } = receiving();
  for (const id of ['t.c.1', 't.c.5', 't.c.3', 't.c.6']) await post({ id });
  assert.deepEqual(
    got.map(({ seq, late }) => [seq, late]),
    [
      [1, false],
      [5, false],
      [3, true],
      [6, false],
    ],
  );
});

test('the events of one webhook are handed over one at a time, even if the server repeats one meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { post } = receiving({
    async onEvent({ id }) {
      seen.push(`${id} begins`);
      begun.resolve();
      if (id === 't.c.1') await promise;
      seen.push(`${id} ends`);
    },
  });
  const both = [post({ id: 't.c.1' }), post({ id: 't.c.1' })];
  await begun.promise;
  assert.equal(await post({ id: 't.other.1' }), 204);
  resolve();
  assert.deepEqual(await Promise.all(both), [204, 204]);
  assert.deepEqual(seen, ['t.c.1 begins', 't.other.1 begins', 't.other.1 ends', 't.c.1 ends']);
});

test('if the handler fails, the server may try again, and learns nothing of the error', async () => {
  const errors: unknown[] = [];
  let failures = 1;
  const { receiver } = receiving({
    onEvent() {
      if (failures-- > 0) throw new Error('the database is down');
    },
    onError: (error) => errors.push(error),
  });
  const failed = await receiver.fetch(request());
  assert.deepEqual([failed.status, await failed.text()], [500, '']);
  assert.equal((await receiver.fetch(request())).status, 204);
  assert.match(String(errors), /the database is down/);
});

test('a handler that returns "gone" ends the webhook, even if the first answer is lost', async () => {
  let handled = 0;
  const { post } = receiving({
    onEvent() {
      handled++;
      return 'gone';
    },
  });
  assert.deepEqual([await post(), await post()], [410, 410]);
  assert.equal(handled, 1);
});

test('every key of the caller is tried', async () => {
  const others = Array.from({ length: 17 }, () => temporarySigningKeys());
  const keys = [...others, KEYS].flatMap(({ publicKeys }) => publicKeys);
  const { post, asked } = receiving({ jwks: undefined, keys });
  assert.equal(await post(), 204);
  assert.deepEqual(asked, []);
});

test('a new key of the server is fetched, but forged signatures do not cause many requests', async (t) => {
  let published = temporarySigningKeys();
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { post, asked } = receiving({}, () => published);
  assert.equal(await post(), 401);
  assert.equal(asked.length, 1);
  for (let n = 0; n < 5; n++) assert.equal(await post({ keys: temporarySigningKeys() }), 401);
  assert.equal(asked.length, 1);
  published = KEYS;
  now += 11_000;
  assert.equal(await post(), 204);
  assert.equal(asked.length, 2);
  // A key that the server has removed is refused after a while.
  published = temporarySigningKeys();
  now += 601_000;
  assert.equal(await post({ id: 't.c.9' }), 401);
});

test('while the keys cannot be fetched, the server is asked to try again', async () => {
  const errors: unknown[] = [];
  let asked = 0;
  const { post } = receiving({
    async fetch() {
      asked++;
      throw new Error('no route');
    },
    onError: (error) => errors.push(error),
  });
  assert.equal(await post(), 503);
  assert.equal(await post(), 503);
  assert.equal(asked, 1);
  assert.match(String(errors[0]), /the keys at https:.* are unavailable: cannot reach .* no route/);
});

test('a receiver that would trust anybody cannot be made', () => {
  assert.throws(
    () => webhookReceiver({ onEvent() {}, onError() {} }),
    /needs `jwks`, `keys`, `token` or/,
  );
  for (const credential of [{ token: '' }, { authorization: '' }, { jwks: JWKS, token: '' }]) {
    assert.throws(() => webhookReceiver({ ...credential, onEvent() {}, onError() {} }), {
      name: 'TypeError',
      message: /is an empty string, so anybody could send notifications/,
    });
  }
});

test('without signatures, the token is checked, and repeated ids are still recognized', async () => {
  const { post, got } = receiving({ jwks: undefined, token: 'right' });
  assert.equal(await post({ headers: { 'x-a2a-notification-token': 'wrong' } }), 401);
  const headers = { 'x-a2a-notification-token': 'right' };
  assert.equal(await post({ headers }), 204);
  assert.equal(await post({ headers }), 204);
  assert.equal(got.length, 1);
});

test('requests are bounded: method, size of one body, number at the same time', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { receiver, post } = receiving({ maxBytes: 500, maxPending: 2, onEvent: () => promise });
  assert.equal((await receiver.fetch(new Request('http://me.test/hook'))).status, 405);
  assert.equal(await post({ headers: { 'content-length': '501' } }), 413);
  const large = JSON.stringify({ ...task, padding: 'x'.repeat(500) });
  assert.equal(await post({ body: large }), 400);
  const waiting = [post({ id: 't.a.1' }), post({ id: 't.b.1' })];
  assert.equal(await post({ id: 't.c.1' }), 503);
  resolve();
  assert.deepEqual(await Promise.all(waiting), [204, 204]);
});

async function listen(t: TestContext, handler: Parameters<typeof createServer>[1]) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

test('one line in Express, and in node:http', async (t) => {
  const { receiver, got } = receiving();
  const app = express();
  app.post('/hook', receiver.node);
  const urls = [await listen(t, app), await listen(t, receiver.node)];
  for (const [at, url] of urls.entries()) {
    const { status } = await fetch(url, signed({ id: `t.${at}.1` }));
    assert.equal(status, 204);
    assert.equal((await fetch(url, signed({ keys: temporarySigningKeys() }))).status, 401);
  }
  assert.equal(got.length, 2);
});

test('after a body parser, text and bytes are used, and a parsed body is an error of this server', async (t) => {
  const errors: unknown[] = [];
  const { receiver, got } = receiving({ onError: (error) => errors.push(error) });
  for (const [parser, status] of [
    [express.raw({ type: () => true }), 204],
    [express.text({ type: () => true }), 204],
    [express.json(), 500],
  ] as const) {
    const app = express();
    app.use(parser);
    app.post('/hook', receiver.node);
    const answer = await fetch(await listen(t, app), signed({ id: `t.${got.length}.1` }));
    assert.equal(answer.status, status);
  }
  assert.match(String(errors), /mount it before express\.json\(\)/);
});

test('readNotification verifies a signature with a key of the caller', async () => {
  const keys = KEYS.publicKeys;
  assert.equal((await readNotification(request(), { keys })).kind, 'task');
  const forged = request({ keys: temporarySigningKeys() });
  await assert.rejects(readNotification(forged, { keys }), { kind: 'unauthenticated' });
  await assert.rejects(readNotification(request(), { keys: [] }), { kind: 'unauthenticated' });
});
