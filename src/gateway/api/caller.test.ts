import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Caller, CALLER_CODEC } from './caller.ts';

test('a caller is the same at the other gateway, with its scopes, its key and its headers', () => {
  const caller = new Caller({
    workspace: 'w',
    agent: 'asker',
    actor: 'key:k',
    keyId: 'k',
    keyName: 'sender',
    scopes: new Set(['tasks:write']),
    traceparent: `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`,
    headers: { 'x-user': 'ann' },
  });
  const packed = JSON.stringify(CALLER_CODEC.pack(caller));
  const there = CALLER_CODEC.unpack(JSON.parse(packed));
  assert.ok(there instanceof Caller);
  assert.deepEqual(there, caller);
  assert.throws(() => there.need('agents:use'), { kind: 'forbidden' });
});

test('a user that is not a caller is neither sent to another gateway nor accepted from it', () => {
  const user = { id: 'w', tenant: '', scopes: {} };
  assert.throws(() => CALLER_CODEC.pack(user), { kind: 'unauthenticated' });
  assert.throws(() => CALLER_CODEC.unpack(user), { kind: 'unavailable' });
});
