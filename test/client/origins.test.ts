// Credentials go only to the origin that the caller named, wherever the agent's card and its redirects lead.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connect, ConnectionError, type ConnectOptions } from '../../src/client/index.ts';
import { v1, type AgentCard } from '../../src/protocol/index.ts';
import { cardOf, reply, sendJson, startPeer, type Asked, type Peer } from './peer.ts';

const SECRET = { Authorization: 'Bearer secret', 'X-API-Key': 'secret' };

const TASK = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };

function agent(t: TestContext, cardAt?: (own: string) => AgentCard): Promise<Peer> {
  const peer = startPeer(t, async (asked, response) => {
    if (asked.verb === 'POST') return reply(asked, response, TASK);
    const { url } = await peer;
    sendJson(response, v1.encodeCard(cardAt?.(url) ?? cardOf(url, '1.0')));
  });
  return peer;
}

function calls({ asked }: Peer): Asked[] {
  return asked.filter(({ verb }) => verb === 'POST');
}

async function connected(t: TestContext, url: string, options: ConnectOptions) {
  const client = await connect(url, options);
  t.after(() => client.close());
  return client;
}

test('a card that leads to another origin gets no credentials there, and the error says which origin is trusted and how to trust the other', async (t) => {
  const thief = await agent(t);
  const named = await agent(t, () => cardOf(thief.url, '1.0'));
  for (const headers of [SECRET, () => SECRET]) {
    await assert.rejects(connect(named.url, { headers }), (error: unknown) => {
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.reason, 'untrusted');
      for (const word of [thief.url, named.url, 'trustedOrigins']) {
        assert.ok(error.message.includes(word), error.message);
      }
      return true;
    });
  }
  await assert.rejects(connect(named.url, { headers: SECRET, card: cardOf(thief.url, '1.0') }), {
    reason: 'untrusted',
  });
  assert.deepEqual(thief.asked, []);
});

test('an origin that the caller trusts gets the credentials', async (t) => {
  const other = await agent(t);
  const named = await agent(t, () => cardOf(other.url, '1.0'));
  const trustedOrigins = [`${other.url}/ignored/path`];
  const client = await connected(t, named.url, { headers: SECRET, trustedOrigins });
  await client.get('t');
  assert.deepEqual(
    calls(other).map(({ headers }) => headers['x-api-key']),
    ['secret'],
  );
  await assert.rejects(connect(named.url, { trustedOrigins: ['api.example'] }), {
    name: 'TypeError',
    message: 'trustedOrigins: "api.example" is not an origin, such as https://api.example',
  });
});

test('with credentials, an interface at the named origin is chosen before a better one elsewhere', async (t) => {
  const other = await agent(t);
  const named = await agent(t, (own) => {
    const [first, second] = [cardOf(other.url, '1.0'), cardOf(own, '1.0', 'HTTP+JSON')];
    const supportedInterfaces = [...first.supportedInterfaces, ...second.supportedInterfaces];
    return { ...first, supportedInterfaces };
  });
  const careful = await connected(t, named.url, { headers: SECRET });
  assert.deepEqual(
    [careful.endpoint.url, careful.endpoint.binding],
    [`${named.url}/`, 'HTTP+JSON'],
  );
  const open = await connected(t, named.url, {});
  assert.equal(open.endpoint.url, `${other.url}/`);
});

test('without credentials a card may lead to another origin, which gets no headers of a single call either', async (t) => {
  const other = await agent(t);
  const named = await agent(t, () => cardOf(other.url, '1.0'));
  const client = await connected(t, named.url, {});
  assert.equal((await client.get('t')).id, 't');
  await assert.rejects(client.get('t', { headers: SECRET }), { reason: 'untrusted' });
  const events = client.resubscribe('t', { headers: SECRET });
  await assert.rejects(events[Symbol.asyncIterator]().next(), { reason: 'untrusted' });
  assert.equal(calls(other).length, 1);
});

test('the names of this machine are one origin for credentials', async (t) => {
  const named = await agent(t, (own) => cardOf(own.replace('127.0.0.1', 'localhost'), '1.0'));
  const client = await connected(t, named.url, { headers: SECRET });
  await client.get('t');
  assert.deepEqual(
    calls(named).map(({ headers }) => headers.authorization),
    ['Bearer secret'],
  );
});

test('an interface with another scheme, or with credentials in its address, is not used', async (t) => {
  const named = await agent(t);
  const { host } = new URL(named.url);
  const addresses = [
    'file:///etc/passwd',
    'data:application/json,{}',
    'javascript:alert(1)',
    `blob:${named.url}/1`,
    `ftp://${host}/`,
    `http://user:password@${host}/`,
    `http://user@${host}/`,
  ];
  for (const address of addresses) {
    const card = cardOf(address, '1.0');
    await assert.rejects(connect(named.url, { card }), { reason: 'interface' }, address);
    await assert.rejects(
      connect(named.url, { card, headers: SECRET }),
      (error) => error instanceof ConnectionError,
      address,
    );
  }
  assert.deepEqual(named.asked, []);
});

test('a header with a line break is refused without showing its value, and nothing is sent', async (t) => {
  const named = await agent(t);
  for (const headers of [
    { Authorization: 'Bearer secret\r\nX-Admin: yes' },
    () => ({ Authorization: 'Bearer secret\nX-Admin: yes' }),
  ]) {
    await assert.rejects(connect(named.url, { headers }), {
      name: 'TypeError',
      message: 'the header "Authorization" has characters that HTTP does not allow',
    });
  }
  const client = await connected(t, named.url, { card: cardOf(named.url, '1.0') });
  const inCall = { headers: { 'x-key': 'secret\r\nX-Admin: yes' } };
  await assert.rejects(client.get('t', inCall), { name: 'TypeError', message: /"x-key"/ });
  await assert.rejects(client.get('t', { extensions: ['https://a.test\r\nX-Admin: yes'] }), {
    name: 'TypeError',
  });
  assert.deepEqual(named.asked, []);
});

test('with credentials, gRPC at the named origin is chosen if the better interface is elsewhere', async (t) => {
  const other = await agent(t);
  const named = await agent(t, (own) => {
    const [first, second] = [cardOf(other.url, '1.0'), cardOf(own, '1.0', 'GRPC')];
    const supportedInterfaces = [...first.supportedInterfaces, ...second.supportedInterfaces];
    return { ...first, supportedInterfaces };
  });
  for (const headers of [SECRET, () => SECRET]) {
    const careful = await connected(t, named.url, { headers });
    assert.deepEqual([careful.endpoint.url, careful.endpoint.binding], [`${named.url}/`, 'GRPC']);
  }
  const open = await connected(t, named.url, {});
  assert.deepEqual([open.endpoint.url, open.endpoint.binding], [`${other.url}/`, 'JSONRPC']);
});
