import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doorOf, liveTokens } from './live-flags.ts';

const none = { 'a2a-port': undefined, 'a2a-host': undefined, 'a2a-token': [] };

test('nobody can join unless a port is named', () => {
  assert.equal(doorOf(none), undefined);
  assert.throws(() => doorOf({ ...none, 'a2a-host': '::1' }), /add --a2a-port/);
});

test('a port is on loopback, where no token is needed', () => {
  const door = doorOf({ ...none, 'a2a-port': '0' });
  assert.deepEqual(door, { port: 0, host: '127.0.0.1', tokens: [] });
});

test('another address needs a token', () => {
  const open = { ...none, 'a2a-port': '1234', 'a2a-host': '0.0.0.0' };
  assert.throws(() => doorOf(open), /add --a2a-token/);
  assert.equal(doorOf({ ...open, 'a2a-token': ['tv:view:abc'] })?.host, '0.0.0.0');
});

test('a token has a name and roles, and commas between tokens and between roles are told apart', () => {
  const phone = { name: 'phone', roles: ['view', 'prompt'], token: 's3cret' };
  const tv = { name: 'tv', roles: ['view'], token: 'abc' };
  assert.deepEqual(liveTokens(['phone:view,prompt:s3cret', 'tv:view:abc']), [phone, tv]);
  assert.deepEqual(liveTokens(['phone:view', 'prompt:s3cret', 'tv:view:abc']), [phone, tv]);
});

for (const [what, given, says] of [
  ['no roles', ['phone:hunter2'], /write NAME:ROLES:TOKEN/],
  ['an unknown role', ['phone:root:hunter2'], /no role "root"/],
  ['characters that a WebSocket cannot carry', ['phone:view:hunter2 c'], /letters, digits/],
  ['a name that is there twice', ['a:view:x', 'a:view:y'], /a is there twice/],
  ['the token of somebody else', ['a:view:x', 'b:view:x'], /b has the token/],
] as const) {
  test(`a token with ${what} is refused, and not repeated`, () => {
    assert.throws(
      () => liveTokens(given),
      (error: Error) => says.test(error.message) && !error.message.includes('hunter2'),
    );
  });
}
