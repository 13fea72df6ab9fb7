import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import { A2AError } from '../../protocol/index.ts';
import { Caller } from '../api/caller.ts';
import { createAuthenticate } from './authenticate.ts';
import type { RateLimit } from '../keys/schema.ts';

type Headers = Readonly<Record<string, string>>;

function request(headers: Headers, fields: { mount?: string; remote?: string } = {}) {
  return { remote: '192.0.2.1', ...fields, header: (name: string) => headers[name] };
}

function setup({ rateLimit, own }: { rateLimit?: RateLimit; own?: RateLimit } = {}) {
  const { keys, clock, now } = testGateway();
  const { key, secret } = keys.create(
    { workspace: 'team', name: 'ci', scopes: ['tasks:read'], ...(own && { rateLimit: own }) },
    'cli',
  );
  const authenticate = createAuthenticate({ keys, now, ...(rateLimit && { rateLimit }) });
  const bearer = { authorization: `Bearer ${secret}` };
  return { authenticate, keys, clock, key, secret, bearer };
}

function limited(work: () => unknown): number | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof A2AError && error.kind === 'rateLimited', String(error));
    return error.detail.retryAfterSeconds;
  }
}

describe('a key', () => {
  test('in either header makes a caller of its workspace, at once', () => {
    const { authenticate, key, secret, bearer } = setup();
    for (const headers of [
      bearer,
      { authorization: `bearer  ${secret} ` },
      { 'x-api-key': secret },
      { ...bearer, 'x-api-key': secret },
    ]) {
      const caller = authenticate(request(headers));
      assert.ok(caller instanceof Caller);
      assert.deepEqual(
        [caller.id, caller.tenant, caller.actor, caller.keyId, [...caller.scopes]],
        ['team', '', `key:${key.id}`, key.id, ['tasks:read']],
      );
    }
  });

  test('is nobody where two differ, or the header is another one', () => {
    const { authenticate, keys, secret, bearer } = setup();
    const other = keys.create({ workspace: 'team', name: 'b', scopes: ['*'] }, 'cli').secret;
    const nobodies: readonly Headers[] = [
      {},
      { ...bearer, 'x-api-key': other },
      { authorization: 'Bearer', 'x-api-key': secret },
      { authorization: `Basic ${secret}`, 'x-api-key': secret },
      { authorization: secret },
      { authorization: '' },
      { 'x-api-key': '' },
      { authorization: `Bearer ${secret} ${secret}` },
      { authorization: `Bearer ${'x'.repeat(100_000)}` },
      { authorization: `Bearer ${' '.repeat(100_000)}` },
      { authorization: 'Bearer pärley_\u{1F511}' },
      { authorization: 'Bearer a.b.c' },
    ];
    for (const headers of nobodies) {
      assert.equal(authenticate(request(headers)), undefined);
    }
  });

  test('in the query counts only at the endpoints of Google’s API, and not at an agent', () => {
    const { authenticate, secret } = setup();
    const at = (url: string, mount = '') =>
      authenticate({ ...request({}, { mount }), url: `${url}?key=${secret}` });
    assert.ok(at('/v1beta/models'));
    assert.equal(at('/v1/models'), undefined);
    assert.equal(at('/a2a/tasks/send'), undefined);
    assert.equal(at('/v1beta/models', '/agents/weather'), undefined);
  });

  test('comes through the door of the agent that it is used at, with its trace', () => {
    const { authenticate, bearer } = setup();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const caller = authenticate(request({ ...bearer, traceparent }, { mount: '/agents/weather' }));
    assert.ok(caller instanceof Caller);
    assert.deepEqual([caller.tenant, caller.traceparent], ['agents/weather', traceparent]);
    const odd = authenticate(request({ ...bearer, traceparent: 'x\r\ny: z' }));
    assert.ok(odd instanceof Caller);
    assert.deepEqual([odd.tenant, odd.traceparent], ['', undefined]);
  });
});

describe('a rate limit', () => {
  test("is the key's own, whatever the default", () => {
    const own = { requestsPerMinute: 60, burst: 2 };
    const { authenticate, bearer, clock } = setup({ own, rateLimit: { requestsPerMinute: 1 } });
    const ask = () => authenticate(request(bearer));
    assert.deepEqual([limited(ask), limited(ask), limited(ask)], [undefined, undefined, 1]);
    clock.time += 1000;
    assert.equal(limited(ask), undefined);
  });

  test('is the default where the key has none, and each key has its own count', () => {
    const { authenticate, keys, bearer } = setup({ rateLimit: { requestsPerMinute: 1 } });
    const other = keys.create({ workspace: 'team', name: 'b', scopes: ['*'] }, 'cli').secret;
    const ask = (headers: Headers) => limited(() => authenticate(request(headers)));
    assert.deepEqual([ask(bearer), ask(bearer)], [undefined, 60]);
    assert.equal(ask({ 'x-api-key': other }), undefined);
  });

  test('is not escaped by a rotation', () => {
    const { authenticate, keys, key, bearer } = setup({ rateLimit: { requestsPerMinute: 1 } });
    assert.ok(authenticate(request(bearer)));
    const { secret } = keys.rotate('team', key.id, {}, 'cli');
    assert.equal(
      limited(() => authenticate(request({ 'x-api-key': secret }))),
      60,
    );
  });

  test('slows who guesses, by address, and never a good key at the same one', () => {
    const { authenticate, bearer, secret } = setup();
    const wrong = { authorization: `Bearer ${secret.slice(0, -4)}AAAA` };
    const guess = (remote: string) => limited(() => authenticate(request(wrong, { remote })));
    const waits = Array.from({ length: 31 }, () => guess('203.0.113.9'));
    assert.deepEqual([waits[29], waits[30]], [undefined, 2]);
    assert.equal(guess('203.0.113.10'), undefined);
    assert.ok(authenticate(request(bearer, { remote: '203.0.113.9' })));
  });

  test('slows who sends malformed credentials, but not who sends none', () => {
    const { authenticate } = setup();
    const wait = (headers: Headers, remote: string) =>
      Array.from({ length: 31 }, () =>
        limited(() => authenticate(request(headers, { remote }))),
      ).at(-1);
    assert.equal(wait({ authorization: 'Basic x' }, '203.0.113.1'), 2);
    assert.equal(wait({ 'x-api-key': '' }, '203.0.113.2'), 2);
    assert.equal(wait({ authorization: 'Bearer a.b.c' }, '203.0.113.3'), 2);
    assert.equal(wait({}, '203.0.113.4'), undefined);
  });

  test('of a JWT is counted for each workspace, because its subject may be another person there', async () => {
    const { keys, now } = testGateway();
    const verify = async (jwt: string) => {
      const workspace = jwt.split('.')[1] ?? '';
      return { subject: 'ann', workspace, scopes: new Set(['*']), expiresAt: Infinity };
    };
    const rateLimit = { requestsPerMinute: 1 };
    const authenticate = createAuthenticate({ keys, now, rateLimit, oidc: { verify } });
    const ask = async (workspace: string) =>
      authenticate(request({ authorization: `Bearer e30.${workspace}.e30` }));
    assert.ok(await ask('north'));
    await assert.rejects(ask('north'), { kind: 'rateLimited' });
    assert.ok(await ask('south'));
  });
});
