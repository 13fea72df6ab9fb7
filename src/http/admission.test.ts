import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AdmissionOptions,
  bearerTokens,
  createAdmission,
  hostsOf,
  sameSecret,
} from './admission.ts';
import type { TransportRequest } from './request.ts';

function request(headers: Record<string, string>, local = true): TransportRequest {
  return {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    base: 'http://127.0.0.1:4000',
    remote: '127.0.0.1',
    local,
    signal: new AbortController().signal,
  };
}

function admits(
  headers: Record<string, string>,
  options: AdmissionOptions = {},
  local = true,
): boolean {
  try {
    createAdmission(options).check(request(headers, local));
    return true;
  } catch (error) {
    assert.equal((error as { kind?: string }).kind, 'forbidden');
    return false;
  }
}

test('on loopback only names of loopback and the public one are served', () => {
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:4000',
    'localhost:4000',
    'LOCALHOST',
    '[::1]:4000',
    '127.1.2.3',
  ]) {
    assert.equal(admits({ host }), true, host);
  }
  for (const host of [
    '',
    'evil.example',
    'localhost.evil',
    '127.0.0.1.evil',
    '127.0.0.1:x',
    'localhost:4000@evil',
  ]) {
    assert.equal(admits({ host }), false, host);
  }
  const options = { publicUrl: 'https://agent.example/path' };
  assert.equal(admits({ host: 'agent.example' }, options), true);
  assert.equal(admits({ host: 'other.example' }, options), false);
  const odd = { publicUrl: 'https://Agent.Example' };
  for (const host of ['agent.example', 'Agent.Example', 'agent.example:443', 'AGENT.EXAMPLE:443']) {
    assert.equal(admits({ host }, odd), true, host);
  }
  for (const host of ['agent.example:80', 'agent.example:4430', 'agent.example.evil']) {
    assert.equal(admits({ host }, odd), false, host);
  }
  const onPort = { publicUrl: 'http://agent.example:8080' };
  assert.equal(admits({ host: 'agent.example:8080' }, onPort), true);
  assert.equal(admits({ host: 'agent.example' }, onPort), false);
});

test('off loopback every well-formed host is served, and others are refused with 400', () => {
  const check = (headers: Record<string, string>) => () =>
    createAdmission({}).check(request(headers, false));
  for (const host of [
    'agent.example',
    'AGENT.example.:8080',
    'my_service-1',
    'xn--bcher-kva.example',
    '192.0.2.7:80',
    '[2001:db8::7]',
    '[::ffff:192.0.2.7]:8080',
  ]) {
    check({ host })();
  }
  check({})();
  for (const host of [
    '',
    'a b',
    'a/b',
    'a?b',
    'a#b',
    'a\\b',
    'user@agent.example',
    'agent.example:x',
    'agent.example:',
    'agent.example:123456',
    'a,b',
    '<script>',
    'a"b',
    "a'b",
    'ä.example',
    '%61.example',
    '[::1',
    '[evil.example]',
    'a:1:2',
  ]) {
    assert.throws(check({ host }), { kind: 'invalidRequest' }, host);
  }
});

test('a host that is longer than any name is refused', () => {
  const check = (host: string) => () => createAdmission({}).check(request({ host }, false));
  check(`${'a'.repeat(253)}.:65535`)();
  assert.throws(check('a'.repeat(12_000)), { kind: 'invalidRequest' });
});

test('a host that was let in does not let the next one in', () => {
  const admission = createAdmission({});
  admission.check(request({ host: 'localhost' }));
  assert.throws(() => admission.check(request({ host: 'evil.example' })));
  admission.check(request({ host: 'localhost' }));
});

test('an origin is ours, configured, or refused', () => {
  const host = 'localhost:4000';
  assert.equal(admits({ host, origin: 'http://localhost:4000' }), true);
  for (const origin of [
    'http://localhost',
    'http://localhost:4001',
    'https://evil.example',
    'null',
    '',
  ]) {
    assert.equal(admits({ host, origin }), false, origin);
  }
  const some = { corsOrigins: ['https://page.example'] };
  assert.equal(admits({ host, origin: 'https://page.example' }, some), true);
  assert.equal(admits({ host, origin: 'https://page.example.evil' }, some), false);
  assert.equal(admits({ host, origin: 'https://any.example' }, { corsOrigins: ['*'] }), true);
});

test('CORS headers go only to origins that are let in', () => {
  const admission = createAdmission({ corsOrigins: ['https://page.example'] });
  const of = (origin: string) => admission.cors(request({ host: 'localhost', origin }));
  assert.equal(of('https://page.example')['access-control-allow-origin'], 'https://page.example');
  assert.deepEqual(of('https://evil.example'), {});
  assert.deepEqual(admission.cors(request({ host: 'localhost' })), {});
});

test('a URL with the default port has a Host header with the port and one without it', () => {
  const cases: Record<string, readonly string[]> = {
    'http://192.168.1.5:80': ['192.168.1.5', '192.168.1.5:80'],
    'https://[fe80::1]:443/a': ['[fe80::1]', '[fe80::1]:443'],
    'http://192.168.1.5:8080': ['192.168.1.5:8080'],
  };
  for (const [url, hosts] of Object.entries(cases)) assert.deepEqual(hostsOf(new URL(url)), hosts);
});

test('a bearer token is its user, whatever the case of the scheme', () => {
  const who = bearerTokens(
    new Map([
      ['ann', 'aaa'],
      ['bob', 'bbb'],
    ]),
  );
  const ask = (authorization?: string) =>
    who(request(authorization === undefined ? {} : { authorization }));
  assert.deepEqual(ask('Bearer aaa'), { id: 'ann' });
  assert.deepEqual(ask('bearer bbb'), { id: 'bob' });
  for (const bad of ['Bearer ccc', 'Bearer', 'Bearer ', 'Basic aaa', 'aaa', '', undefined]) {
    assert.equal(ask(bad), undefined, bad);
  }
});

test('secrets are the same only if they are', () => {
  assert.equal(sameSecret('abc', 'abc'), true);
  for (const other of ['', 'ab', 'abd', 'abcd', 'ABC'])
    assert.equal(sameSecret('abc', other), false);
});

test('without authenticate everybody is nobody; with it, who is not known is refused', async () => {
  assert.equal(createAdmission({}).identify(request({})), undefined);
  const admission = createAdmission({ authenticate: () => undefined });
  assert.throws(() => admission.identify(request({})), { kind: 'unauthenticated' });
  const slow = createAdmission({ authenticate: async () => undefined });
  await assert.rejects(async () => slow.identify(request({})), { kind: 'unauthenticated' });
  const known = createAdmission({ authenticate: async () => ({ id: 'ann' }) });
  assert.deepEqual(await known.identify(request({})), { id: 'ann' });
});

test('without authentication, a request from another machine is refused, unless there is a public URL', () => {
  const far = { ...request({ host: 'agent.example' }, false), remote: '192.0.2.7' };
  assert.throws(() => createAdmission({}).identify(far), {
    kind: 'forbidden',
    message: /no authentication.* Set `authenticate`/,
  });
  assert.throws(() => createAdmission({ trustProxy: true }).identify(far), { kind: 'forbidden' });
  const publicUrl = 'https://agent.example';
  assert.equal(createAdmission({ publicUrl }).identify(far), undefined);
  const authenticate = () => ({ id: 'ann' });
  assert.deepEqual(createAdmission({ authenticate }).identify(far), { id: 'ann' });
  // A Unix socket.
  assert.equal(createAdmission({}).identify({ ...far, remote: '' }), undefined);
});

test('without authentication, a local request that came through a proxy is refused', () => {
  for (const header of [
    'x-forwarded-for',
    'forwarded',
    'via',
    'x-real-ip',
    'x-forwarded-host',
    'x-forwarded-proto',
  ]) {
    const proxied = request({ host: '127.0.0.1:4000', [header]: '10.0.0.9' });
    assert.throws(() => createAdmission({}).identify(proxied), {
      kind: 'forbidden',
      message: new RegExp(`header ${header}.*--trust-proxy`),
    });
    assert.equal(createAdmission({ trustProxy: true }).identify(proxied), undefined);
    const authenticate = () => ({ id: 'ann' });
    assert.deepEqual(createAdmission({ authenticate }).identify(proxied), { id: 'ann' });
  }
});
