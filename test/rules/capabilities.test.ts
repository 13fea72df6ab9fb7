/** Rule 4, and the card: what is not offered is refused by its own error, and the card says only what works. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgent, serve } from '../../src/server.ts';
import { finished, raw, rest1, rpc03, rpc1, sample, start, userMessage, WIRES } from './support.ts';

const url1 = 'https://example.org/hook';
const EXTENSION = 'https://example.org/ext/v1';

for (const wire of WIRES) {
  for (const [how, options] of [
    ['by option', { push: false }],
    ['by the card', { card: { capabilities: { pushNotifications: false } } }],
  ] as const) {
    test(`rule 4: without push, every push operation is -32003 (${how}, ${wire.name})`, async (t) => {
      const { url } = await start(t, sample(), options);
      const { id } = await finished(url);
      const config = { id: 'c1', url: url1 };
      const ask = [
        wire.ask(url, 'setPushConfig', { taskId: id, pushNotificationConfig: config }),
        wire.ask(url, 'getPushConfig', { id, pushNotificationConfigId: 'c1' }),
        wire.ask(url, 'listPushConfigs', { id }),
        wire.ask(url, 'deletePushConfig', { id, pushNotificationConfigId: 'c1' }),
        wire.ask(url, 'sendMessage', {
          message: userMessage('x'),
          configuration: { pushNotificationConfig: config },
        }),
      ];
      for (const { error } of await Promise.all(ask)) assert.equal(error?.code, -32003);
      assert.equal((await wire.call(url, 'listTasks', {})).totalSize, 1);
    });
  }

  test(`rule 4: without streaming, both streams are -32004 (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), { card: { capabilities: { streaming: false } } });
    const { id } = await finished(url);
    const message = userMessage('x');
    for (const answer of [
      await wire.ask(url, 'streamMessage', { message }),
      await wire.ask(url, 'subscribe', { id }),
      await wire.ask(url, 'subscribe', { id }, { query: 'after=0' }),
    ]) {
      assert.equal(answer.error?.code, -32004);
    }
    assert.equal((await wire.call(url, 'listTasks', {})).totalSize, 1);
  });

  test(`rule 4: the extended card is -32004 when off, -32007 when declared and not there (${wire.name})`, async (t) => {
    const off = await start(t);
    assert.equal((await wire.ask(off.url, 'getExtendedCard', {})).error?.code, -32004);
    const declared = await start(t, sample(), { extendedCard: true });
    assert.equal((await wire.ask(declared.url, 'getExtendedCard', {})).error?.code, -32007);
    const there = await start(t, sample(), { extendedCard: { description: 'For you alone' } });
    const card = await wire.call(there.url, 'getExtendedCard', {});
    assert.equal(card.description, 'For you alone');
    assert.equal(card.supportedInterfaces[0]?.url, there.url);
  });

  test(`rule 4: what the card declares of the extended card counts, whatever is configured (${wire.name})`, async (t) => {
    const declared = (extendedAgentCard: boolean) => ({
      card: { capabilities: { extendedAgentCard } },
    });
    const promised = await start(t, sample(), declared(true));
    assert.equal((await wire.ask(promised.url, 'getExtendedCard', {})).error?.code, -32007);
    const hidden = await start(t, sample(), { ...declared(false), extendedCard: { name: 'Y' } });
    assert.equal((await wire.ask(hidden.url, 'getExtendedCard', {})).error?.code, -32004);
  });

  test(`the extended card changes what it names, in capabilities too (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), {
      push: false,
      card: { version: '7', capabilities: { extensions: [{ uri: EXTENSION }] } },
      extendedCard: (call) => ({
        description: `For callers of ${call.base}`,
        capabilities: { stateTransitionHistory: false, streaming: undefined },
      }),
    });
    const card = await wire.call(url, 'getExtendedCard', {});
    assert.equal(card.description, `For callers of ${url}`);
    assert.equal(card.version, '7');
    const { streaming, pushNotifications, extensions } = card.capabilities;
    assert.deepEqual([streaming, pushNotifications ?? false], [true, false]);
    assert.deepEqual(extensions, [{ uri: EXTENSION }]);
  });

  test(`an extension and input modes that only the card names are demanded (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), {
      card: {
        capabilities: { extensions: [{ uri: EXTENSION, required: true }] },
        defaultInputModes: ['text/plain', 'image/*'],
      },
    });
    const message = userMessage('x');
    assert.equal((await wire.ask(url, 'sendMessage', { message })).error?.code, -32008);
    const headers = { 'a2a-extensions': EXTENSION };
    const answer = await wire.ask(url, 'sendMessage', { message }, { headers });
    assert.equal(answer.error, undefined);
    const file = (mimeType: string) =>
      userMessage('x', { parts: [{ kind: 'file', file: { bytes: 'AAAA', mimeType } }] });
    const send = (mimeType: string) =>
      wire.ask(url, 'sendMessage', { message: file(mimeType) }, { headers });
    assert.equal((await send('audio/wav')).error?.code, -32005);
    assert.equal((await send('image/png')).error, undefined);
  });
}

test('a card that promises the push that is turned off is refused', () => {
  const card = { capabilities: { pushNotifications: true } };
  assert.throws(() => serve(sample(), { push: false, card }), /declares push notifications/);
});

async function cardAt(url: string, headers: Record<string, string> = {}, path = 'agent-card.json') {
  const answer = await raw(url, { method: 'GET', path: `/.well-known/${path}`, headers });
  return { ...answer, card: answer.text === '' ? {} : JSON.parse(answer.text) };
}

test('rule 4: the card advertises what is on and leaves out what is off', async (t) => {
  const on = await start(t, sample(), { extendedCard: true });
  assert.partialDeepStrictEqual(
    (await cardAt(on.url, { 'a2a-version': '1.0' })).card.capabilities,
    {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
    },
  );
  const old = (await cardAt(on.url, { 'a2a-version': '0.3' })).card;
  assert.equal(old.supportsAuthenticatedExtendedCard, true);
  const off = await start(t, sample(), {
    push: false,
    card: { capabilities: { streaming: false } },
  });
  const { capabilities } = (await cardAt(off.url, { 'a2a-version': '1.0' })).card;
  assert.equal(capabilities.streaming, false);
  assert.equal(capabilities.pushNotifications, false);
  assert.equal(capabilities.extendedAgentCard ?? false, false);
});

test('the card is at both paths, in either version, and as a hybrid of both', async (t) => {
  const { url } = await start(t);
  const old = (await cardAt(url, { 'a2a-version': '0.3' })).card;
  const current = (await cardAt(url, { 'a2a-version': '1.0' })).card;
  const hybrid = (await cardAt(url)).card;
  assert.equal(old.url, url);
  assert.equal(old.preferredTransport, 'JSONRPC');
  assert.match(old.protocolVersion, /^0\.3/);
  assert.equal(old.supportedInterfaces, undefined);
  assert.equal(current.url, undefined);
  assert.deepEqual(
    current.supportedInterfaces.map((one: { protocolBinding: string; protocolVersion: string }) => [
      one.protocolBinding,
      one.protocolVersion,
    ]),
    [
      ['JSONRPC', '1.0'],
      ['HTTP+JSON', '1.0'],
      ['JSONRPC', '0.3'],
      ['HTTP+JSON', '0.3'],
    ],
  );
  assert.partialDeepStrictEqual(hybrid, old);
  assert.partialDeepStrictEqual(hybrid, current);
  assert.deepEqual((await cardAt(url, {}, 'agent.json')).card, hybrid);
  const byQuery = 'agent-card.json?A2A-Version=1.0';
  assert.deepEqual((await cardAt(url, {}, byQuery)).card, current);
  // An empty header says nothing, and so does not hide the query.
  assert.deepEqual((await cardAt(url, { 'a2a-version': '' }, byQuery)).card, current);
  assert.deepEqual((await cardAt(url, { 'a2a-version': '9.9' })).card, hybrid);
});

test('the card has an ETag per version, answers 304 to it, and says what it varies by', async (t) => {
  const { url } = await start(t, sample(), { cors: ['https://page.example'] });
  const tags = new Set<string>();
  for (const version of ['', '0.3', '1.0']) {
    const headers: Record<string, string> = version === '' ? {} : { 'a2a-version': version };
    const { headers: got } = await cardAt(url, headers);
    const etag = got.etag!;
    tags.add(etag);
    assert.match(got.vary ?? '', /A2A-Version/i);
    assert.match(got['cache-control'] ?? '', /max-age/);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await cardAt(url, { ...headers, 'if-none-match': known });
      assert.equal(again.status, 304, known);
      assert.equal(again.text, '');
      assert.equal(again.headers.etag, etag);
    }
    assert.equal((await cardAt(url, { ...headers, 'if-none-match': '"x"' })).status, 200);
    const page = await cardAt(url, { ...headers, origin: 'https://page.example' });
    assert.match(page.headers.vary ?? '', /A2A-Version/i);
    assert.match(page.headers.vary ?? '', /Origin/i);
  }
  assert.equal(tags.size, 3);
});

test('behind a proxy the card has the public address', async (t) => {
  const { port } = await start(t, sample(), { publicUrl: 'https://agent.example/a/' });
  const { card } = await cardAt(`http://127.0.0.1:${port}`, { 'a2a-version': '0.3' });
  assert.equal(card.url, 'https://agent.example/a');
  const host = { host: 'agent.example', 'a2a-version': '1.0' };
  const reached = (await cardAt(`http://127.0.0.1:${port}`, host)).card;
  assert.equal(reached.supportedInterfaces[0].url, 'https://agent.example/a');
});

test('the card and the 401 of a server with tokens say Bearer', async (t) => {
  const { url } = await start(t, sample(), { authenticate: () => undefined });
  const { card } = await cardAt(url, { 'a2a-version': '0.3' });
  assert.deepEqual(card.security, [{ bearer: [] }]);
  assert.partialDeepStrictEqual(card.securitySchemes, {
    bearer: { type: 'http', scheme: 'Bearer' },
  });
  const answer = await rpc03.ask(url, 'listTasks', {});
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
});

function extended(required: boolean) {
  const extensions = [{ uri: EXTENSION, required }, { uri: 'https://example.org/other' }];
  return createAgent({ name: 'X', description: 'X', extensions }, async function* (ctx) {
    yield ctx.extensions.join(' ') || 'none';
  });
}

for (const wire of WIRES) {
  test(`a required extension that is not named is -32008, named it is active (${wire.name})`, async (t) => {
    const { url } = await start(t, extended(true));
    const message = userMessage('x');
    for (const operation of ['sendMessage', 'streamMessage'] as const) {
      const { error } = await wire.ask(url, operation, { message });
      assert.equal(error?.code, -32008);
    }
    const name = wire.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions';
    const headers = { [name]: `https://unknown.example, ${EXTENSION}` };
    const { result, headers: got } = await wire.ask(url, 'sendMessage', { message }, { headers });
    assert.ok(JSON.stringify(result).includes(`"text":"${EXTENSION}"`));
    assert.equal(got.get(name), EXTENSION);
    assert.equal((await wire.call(url, 'listTasks', {}, { headers })).totalSize, 1);
  });
}

test('an extension that is not required is active only where it is named', async (t) => {
  const { url } = await start(t, extended(false));
  const plain = await rpc1.ask(url, 'sendMessage', { message: userMessage('x') });
  assert.ok(plain.text.includes('"text":"none"'));
  assert.equal(plain.headers.get('a2a-extensions'), null);
  const headers = { 'a2a-extensions': EXTENSION };
  const stream = await rest1.open(url, 'streamMessage', { message: userMessage('x') }, { headers });
  assert.equal(stream.headers.get('a2a-extensions'), EXTENSION);
  await stream.rest();
});
