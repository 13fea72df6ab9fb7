import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveAddresses, liveTokens } from './live-address.ts';

const none = { 'a2a-port': undefined, 'a2a-host': undefined, 'a2a-token': [], remote: false };

test('others can join only with a port', () => {
  assert.equal(liveAddresses(none).address, undefined);
  assert.throws(() => liveAddresses({ ...none, 'a2a-host': '::1' }), /add --a2a-port/);
});

test('a port is on loopback, where no token is needed', () => {
  const { address } = liveAddresses({ ...none, 'a2a-port': '0' });
  assert.deepEqual(address, { port: 0, host: '127.0.0.1', tokens: [], strict: false });
});

test('behind a proxy every client needs a token, unless the proxy is trusted', () => {
  const behind = { ...none, 'a2a-port': '1234', 'public-url': 'https://desk.example' };
  assert.equal(liveAddresses(behind).address?.strict, true);
  assert.equal(liveAddresses({ ...behind, remote: true }).address?.strict, true);
  assert.equal(liveAddresses({ ...behind, 'trust-proxy': true }).address?.strict, false);
});

test('another address needs a token', () => {
  const open = { ...none, 'a2a-port': '1234', 'a2a-host': '0.0.0.0' };
  assert.throws(() => liveAddresses(open), /add --a2a-token/);
  assert.equal(liveAddresses({ ...open, 'a2a-token': ['tv:view:abc'] }).address?.host, '0.0.0.0');
});

test('with --remote the port stays on loopback, and --a2a-host names the address of the network', () => {
  assert.deepEqual(liveAddresses({ ...none, remote: true, 'a2a-host': '10.0.0.1' }), {
    address: { port: 0, host: '127.0.0.1', tokens: [], strict: true },
    remoteHost: '10.0.0.1',
  });
  const { address } = liveAddresses({ ...none, remote: true, 'a2a-port': '1234' });
  assert.deepEqual(address, { port: 1234, host: '127.0.0.1', tokens: [], strict: false });
});

test('with --remote, a loopback address in --a2a-host is the address of the port', () => {
  assert.deepEqual(liveAddresses({ ...none, remote: true, 'a2a-host': '::1' }), {
    address: { port: 0, host: '::1', tokens: [], strict: true },
    remoteHost: undefined,
  });
});

test('a token has a name and roles, and commas between tokens and between roles are told apart', () => {
  const phone = { name: 'phone', roles: ['view', 'prompt'], token: 's3cret' };
  const tv = { name: 'tv', roles: ['view'], token: 'abc' };
  assert.deepEqual(liveTokens(['phone:view,prompt:s3cret', 'tv:view:abc']), [phone, tv]);
  assert.deepEqual(liveTokens(['phone:view', 'prompt:s3cret', 'tv:view:abc']), [phone, tv]);
});

for (const [what, given, says] of [
  ['no roles', ['phone:hunter2'], /format is NAME:ROLES:TOKEN/],
  ['a name only, before another token', ['hunter2', 'bob:view:x'], /format is NAME:ROLES:TOKEN/],
  ['an unknown role', ['phone:root:hunter2'], /unknown role "root"/],
  ['characters that a WebSocket cannot carry', ['phone:view:hunter2 c'], /letters, digits/],
  ['a name that is there twice', ['a:view:x', 'a:view:y'], /the name a is used twice/],
  ['the token of somebody else', ['a:view:x', 'b:view:x'], /b has the same token/],
] as const) {
  test(`a token with ${what} is refused, and not repeated`, () => {
    assert.throws(
      () => liveTokens(given),
      (error: Error) => says.test(error.message) && !error.message.includes('hunter2'),
    );
  });
}
