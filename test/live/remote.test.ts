// Joining a live session from another device: tickets, tokens, revoking, and which addresses are answered.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { LiveAccess } from '../../src/live/index.ts';
import { exchangeTicket, joinLive, ticketIn } from '../../src/live/client/index.ts';
import { A2AError, textOf } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { makePlace } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { networkAddress } from '../support/network-address.ts';
import { within } from '../support/within.ts';
import { RawClient } from './raw-client.ts';
import { serveSession, Watcher } from './support.ts';

const HOLD = [[{ delayMs: 60_000 }, { text: 'late' }]];

function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const message = (text: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'message/stream',
  params: {
    message: { kind: 'message', messageId: text, role: 'user', parts: [{ kind: 'text', text }] },
  },
});

/** Sends a request with any Host header. */
async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  const asked = httpRequest(url, { headers, agent: false });
  asked.end();
  const [response] = await once(asked, 'response');
  response.resume();
  return response.statusCode;
}

test('a ticket gives a token once; a second exchange and a wrong ticket get 401', async (t) => {
  const access = new LiveAccess();
  const { url, live } = await serveSession(t, { access: { access } });
  const link = `${url}/#ticket=${access.issueTicket(['view', 'approve'])}`;
  const ticket = ticketIn(link) ?? '';
  const answered = await post(`${url}/session/tickets`, { ticket, name: 'phone' });
  assert.equal(answered.status, 200);
  const { token, roles } = (await answered.json()) as { token: string; roles: string[] };
  assert.deepEqual(roles, ['view', 'approve']);
  const session = await joinLive(link, { token });
  t.after(() => session.close());
  assert.deepEqual(live.clients, [
    { id: 'a2a-1', name: 'phone', kind: 'a2a', roles: ['view', 'approve'] },
  ]);
  for (const wrong of [{ ticket }, { ticket: 'wrong' }, { ticket: '' }]) {
    const refused = await post(`${url}/session/tickets`, wrong);
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
  }
  assert.equal((await post(`${url}/session/tickets`, {})).status, 400);
  await assert.rejects(exchangeTicket(link, ticket), { kind: 'unauthenticated' });
  const foreign = { origin: 'http://evil.example' };
  assert.equal((await post(`${url}/session/tickets`, { ticket }, foreign)).status, 403);
  const large = { ticket: 'x'.repeat(10_000) };
  assert.equal((await post(`${url}/session/tickets`, large)).status, 413);
});

test('after a ticket, every new client needs a token, on loopback too, and an attached client stays', async (t) => {
  const access = new LiveAccess();
  const { url, ws } = await serveSession(t, { access: { access } });
  const card = async () => (await fetch(`${url}/.well-known/agent-card.json`)).json();
  assert.equal('securitySchemes' in ((await card()) as object), false);
  const attached = new RawClient(t, ws, 'a2a');
  await attached.snapshot();
  assert.equal((await fetch(`${url}/tasks`)).status, 200);

  access.issueTicket(['view']);
  assert.equal((await fetch(`${url}/tasks`)).status, 401);
  assert.equal((await post(url, message('hi'))).status, 401);
  const late = new RawClient(t, ws, 'a2a');
  assert.equal((await late.closed).code, 4001);
  assert.equal('securitySchemes' in ((await card()) as object), true);
  assert.ok((await attached.ask('session/clients')).result);

  access.withdraw();
  assert.equal((await fetch(`${url}/tasks`)).status, 200);
});

test('a revoked token gets nothing more, on any wire', async (t) => {
  const access = new LiveAccess();
  const { url, ws, live } = await serveSession(t, { access: { access }, script: HOLD });
  const join = (name: string) =>
    exchangeTicket(url, access.issueTicket(['view', 'prompt', 'approve']), { name });
  const [phone, owner] = [await join('phone'), await join('laptop')];
  const socket = new RawClient(t, ws, ['a2a', `token.${phone.token}`]);
  const undecided = new RawClient(t, ws, [`token.${phone.token}`]);
  const other = new RawClient(t, ws, ['a2a', `token.${owner.token}`]);
  await Promise.all([socket.snapshot(), undecided.opened, other.snapshot()]);
  const stream = await post(url, message('begin'), bearer(phone.token));
  const events = stream.body!.getReader();
  await events.read();
  const queued = post(
    url,
    { ...message('queued'), method: 'message/send' },
    bearer(phone.token),
  ).catch(() => undefined);
  await other.frame(({ method, params }) => method === 'tasks/event' && params.seq > 1);

  const { result } = await other.ask('session/clients');
  const { id, token } = result.clients.find((each: { name: string }) => each.name === 'phone');
  assert.equal(token, 'token-1');
  assert.deepEqual((await other.ask('session/revoke', { client: id })).result, { revoked: true });
  assert.deepEqual(await socket.closed, { code: 4001, reason: 'revoked' });
  assert.equal((await undecided.closed).code, 4001);
  await within('the stream ends', drained(events));
  await within('the queued request ends', queued);
  assert.equal((await fetch(`${url}/tasks`, { headers: bearer(phone.token) })).status, 401);
  const again = new RawClient(t, ws, ['a2a', `token.${phone.token}`]);
  assert.equal((await again.closed).code, 4001);
  assert.deepEqual(
    live.clients.map(({ name }) => name),
    ['laptop'],
  );
  assert.equal((await fetch(`${url}/tasks`, { headers: bearer(owner.token) })).status, 200);
});

async function drained(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection was closed in the middle of the response.
  }
}

test('a webhook of a revoked token is removed', async (t) => {
  const access = new LiveAccess();
  const { url, live } = await serveSession(t, { access: { access } });
  const { token } = await exchangeTicket(url, access.issueTicket(['view', 'prompt']));
  const webhook = { url: 'https://hooks.example/x' };
  const params = { taskId: live.taskId, pushNotificationConfig: webhook };
  const set = { jsonrpc: '2.0', id: 1, method: 'tasks/pushNotificationConfig/set', params };
  assert.equal((await post(url, set, bearer(token))).status, 200);
  assert.ok(live.clients.some(({ name }) => name === 'webhook hooks.example'));
  const terminal = live.join({ kind: 'terminal' });
  await terminal.revoke('token-1');
  assert.deepEqual(
    live.clients.map(({ name }) => name),
    ['terminal'],
  );
});

test('a webhook of a revoked token is removed from earlier tasks of the session, too', async (t) => {
  const access = new LiveAccess();
  const { url, live, server } = await serveSession(t, { access: { access }, script: HOLD });
  const { token } = await exchangeTicket(url, access.issueTicket(['view', 'prompt']));
  const { taskId } = live;
  const config = { url: 'https://hooks.example/x' };
  const params = { taskId, pushNotificationConfig: config };
  const set = { jsonrpc: '2.0', id: 1, method: 'tasks/pushNotificationConfig/set', params };
  assert.equal((await post(url, set, bearer(token))).status, 200);
  const ann = new Watcher(live.join({ kind: 'terminal' }));
  await ann.session.prompt('wait');
  await ann.session.cancel();
  await ann.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== taskId ? true : undefined,
  );
  const configs = async () => (await server.handler.listPushConfigs({ id: taskId })).length;
  assert.equal(await configs(), 1);
  await ann.session.revoke?.('token-1');
  assert.equal(await configs(), 0);
});

/** Starts a turn and queues a prompt of a client with a token. Then makes the attempts to send the prompt fail. */
async function unsentPrompt(t: TestContext) {
  const access = new LiveAccess();
  const script = [writes('a.txt', 'A'), [{ text: 'Written.' }], [{ text: 'More.' }]];
  const { url, live, server } = await serveSession(t, { access: { access }, script });
  await exchangeTicket(url, access.issueTicket(['prompt']), { name: 'phone' });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const phone = live.join({ kind: 'a2a', name: 'phone', token: 'token-1' });
  await ann.session.prompt('write');
  const call = await ann.pending();
  const { queued, forgotten } = await phone.prompt('of the phone');
  assert.equal(queued, true);
  const send = server.handler.sendMessage;
  const attempts: PromiseWithResolvers<never>[] = [];
  const attempted = new EventEmitter();
  const sending = t.mock.method(
    server.handler,
    'sendMessage',
    (...given: Parameters<typeof send>) => {
      const [{ message: sent }] = given;
      if (textOf(sent.parts) !== 'of the phone') return send(...given);
      const attempt = Promise.withResolvers<never>();
      attempts.push(attempt);
      attempted.emit('attempt', attempt);
      return attempt.promise;
    },
  );
  /** Waits for the next attempt. */
  const attempt = async (): Promise<PromiseWithResolvers<never>> =>
    (await within('an attempt', once(attempted, 'attempt')))[0];
  const first = attempt();
  await ann.session.confirm({
    tool_call_id: call.tool_call_id,
    selected_option_id: 'proceed_once',
  });
  return { live, ann, forgotten, attempt, first: await first, attempts, sending };
}

test('a prompt is refused if its token is revoked while its settings are checked', async (t) => {
  const access = new LiveAccess();
  const { url, live } = await serveSession(t, { access: { access }, script: HOLD });
  await exchangeTicket(url, access.issueTicket(['prompt']), { name: 'phone' });
  const phone = live.join({ kind: 'a2a', token: 'token-1' });
  const sent = assert.rejects(phone.prompt('begin'), /has left the live session/);
  await live.removeToken('token-1');
  await sent;
});

const UNAVAILABLE = new A2AError('unavailable');

for (const [when, isSending] of [
  ['while the server is unavailable', false],
  ['while it is being sent', true],
] as const) {
  test(`a queued prompt of a token that is revoked ${when} is not sent again`, async (t) => {
    const { live, ann, forgotten, attempt, first, attempts, sending } = await unsentPrompt(t);
    if (isSending) {
      await ann.session.revoke?.('token-1');
      first.reject(UNAVAILABLE);
    } else {
      first.reject(UNAVAILABLE);
      // The second attempt shows that the prompt is sent again until the token is revoked.
      (await attempt()).reject(UNAVAILABLE);
      await turn();
      await ann.session.revoke?.('token-1');
      for (const each of attempts) each.reject(UNAVAILABLE);
    }
    const reason = await within('the prompt is dropped', Promise.resolve(forgotten));
    assert.ok(reason instanceof A2AError && reason.kind === 'conflict');
    const made = attempts.length;
    sending.mock.restore();
    await ann.session.prompt('more');
    await ann.state('completed', 2);
    assert.equal(attempts.length, made);
    assert.deepEqual(ann.said, ['Ann: write', 'agent: Written.', 'Ann: more', 'agent: More.']);
    assert.deepEqual(
      live.clients.map(({ name }) => name),
      ['Ann'],
    );
  });
}

test('if a webhook of a revoked token could not be removed, the next attempt removes it', async (t) => {
  const access = new LiveAccess();
  const place = makePlace(t);
  const store = sqliteStore(join(place.home, 'own.db'));
  const { url, live } = await serveSession(t, { access: { access }, place, server: { store } });
  const { token } = await exchangeTicket(url, access.issueTicket(['view', 'prompt']));
  const params = {
    taskId: live.taskId,
    pushNotificationConfig: { url: 'https://hooks.example/x' },
  };
  const set = { jsonrpc: '2.0', id: 1, method: 'tasks/pushNotificationConfig/set', params };
  assert.equal((await post(url, set, bearer(token))).status, 200);
  const terminal = live.join({ kind: 'terminal' });
  const names = () => live.clients.map(({ name }) => name);
  const failing = t.mock.method(store, 'deletePush', () => {
    throw new Error('the disk is full');
  });
  await assert.rejects(terminal.revoke('token-1'));
  assert.equal((await fetch(`${url}/tasks`, { headers: bearer(token) })).status, 401);
  assert.deepEqual(names(), ['terminal', 'webhook hooks.example']);
  failing.mock.restore();
  await terminal.revoke('token-1');
  assert.deepEqual(names(), ['terminal']);
  await assert.rejects(terminal.revoke('token-1'), /No such client/);
});

test('a client with a token does not get the secrets of webhooks', async (t) => {
  const access = new LiveAccess();
  const { url, live } = await serveSession(t, { access: { access } });
  const { token } = await exchangeTicket(url, access.issueTicket(['view', 'prompt']));
  const viewer = await exchangeTicket(url, access.issueTicket(['view']));
  const authentication = { schemes: ['Bearer'], credentials: 's3cret' };
  const webhook = { url: 'https://hooks.example/x', token: 's3cret', authentication };
  const ask = async (by: string, name: string, params: object) => {
    const method = `tasks/pushNotificationConfig/${name}`;
    return (await post(url, { jsonrpc: '2.0', id: 1, method, params }, bearer(by))).text();
  };
  const set = { taskId: live.taskId, pushNotificationConfig: webhook };
  assert.match(await ask(token, 'set', set), /s3cret/);
  for (const name of ['get', 'list']) {
    const shown = await ask(viewer.token, name, { id: live.taskId });
    assert.match(shown, /hooks\.example.*"schemes":\["Bearer"\]/);
    assert.doesNotMatch(shown, /s3cret/);
  }
});

test('only a client that may prompt and approve may revoke another, and each may sign out itself', async (t) => {
  const access = new LiveAccess();
  const { url, ws, live } = await serveSession(t, { access: { access } });
  live.join({ kind: 'terminal' });
  const idle = await exchangeTicket(url, access.issueTicket(['view']), { name: 'idle' });
  const { token } = await exchangeTicket(url, access.issueTicket(['approve']), { name: 'tv' });
  const tv = new RawClient(t, ws, ['a2a', `token.${token}`]);
  await tv.snapshot();
  const { result } = await tv.ask('session/clients');
  assert.deepEqual(
    result.clients.map(({ id, name, connected }: Record<string, unknown>) => [id, name, connected]),
    [
      ['terminal-1', 'terminal', undefined],
      ['a2a-2', 'tv', undefined],
      ['token-1', 'idle', false],
    ],
  );
  assert.equal((await tv.ask('session/revoke', { client: 'token-1' })).error.code, -31403);
  assert.equal((await tv.ask('session/revoke', {})).error.code, -32602);
  tv.socket.send(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 9,
      method: 'session/revoke',
      params: { client: 'a2a-2' },
    }),
  );
  assert.equal((await tv.closed).code, 4001);
  assert.equal((await fetch(`${url}/tasks`, { headers: bearer(idle.token) })).status, 200);
  const terminal = live.join({ kind: 'terminal' });
  await assert.rejects(terminal.revoke('terminal-1'), { kind: 'unsupportedOperation' });
  await assert.rejects(terminal.revoke('nobody'), { kind: 'notFound' });
});

test('a client that joined before the tickets can be removed too', async (t) => {
  const { ws, live } = await serveSession(t);
  const client = new RawClient(t, ws, 'a2a');
  await client.snapshot();
  await live.join({ kind: 'terminal' }).revoke('a2a-1');
  assert.deepEqual(await client.closed, { code: 4001, reason: 'revoked' });
});

const address = networkAddress();

test(
  'an added address answers only to its own name, and needs a token',
  { skip: address === undefined && 'this machine has no network' },
  async (t) => {
    const access = new LiveAccess();
    const { url, listening } = await serveSession(t, { access: { access } });
    const added = await listening.addAddress(address!);
    assert.equal(added.url, `http://${address}:${listening.port}`);
    assert.equal((await fetch(`${added.url}/tasks`)).status, 401);
    assert.equal((await fetch(`${url}/tasks`)).status, 200);
    const { token } = await exchangeTicket(added.url, access.issueTicket(['view']));
    const path = `${added.url}/tasks`;
    const host = new URL(added.url).host;
    assert.equal(await statusWith(path, bearer(token)), 200);
    const foreign: Record<string, string>[] = [
      { host: `evil.example:${listening.port}` },
      { host: 'localhost' },
      { host: `${address}:1` },
      { host, origin: 'http://evil.example' },
      { host, origin: 'null' },
    ];
    for (const headers of foreign) {
      const status = await statusWith(path, { ...bearer(token), ...headers });
      assert.equal(status, 403, JSON.stringify(headers));
    }
    assert.equal(await statusWith(path, { ...bearer(token), host, origin: added.url }), 200);
    const onLoopback = { ...bearer(token), host };
    assert.equal(await statusWith(`${url}/tasks`, onLoopback), 403);
    await added.close();
    await assert.rejects(fetch(path));
    assert.equal((await fetch(`${url}/.well-known/agent-card.json`)).status, 200);
  },
);

test('a reverse proxy on this machine does not pass on the trust in local clients', async (t) => {
  const { url } = await serveSession(t);
  const proxy = createServer((incoming, outgoing) => {
    const forwarded = {
      ...incoming.headers,
      host: new URL(url).host,
      'x-forwarded-for': '10.0.0.9',
    };
    const asked = httpRequest(`${url}${incoming.url}`, { headers: forwarded }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(asked);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  assert.equal((await fetch(`${url}/tasks`)).status, 200);
  assert.equal((await fetch(`http://127.0.0.1:${port}/tasks`)).status, 401);
});
