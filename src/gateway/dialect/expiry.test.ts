import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryOf } from './expiry.ts';

const now = Date.parse('2026-03-01T10:00:00Z');
const at = (expiresAt: unknown) => ({ expiresAt });

test('a task expires when its client says, in whatever zone', () => {
  assert.equal(expiryOf(at('2026-03-01T10:00:05Z'), {}, now), now + 5000);
  assert.equal(expiryOf(at('2026-03-01T12:00:05.250+02:00'), { ttlSeconds: 1 }, now), now + 5250);
});

test('without a word from the client the configuration counts', () => {
  assert.equal(expiryOf(undefined, {}, now), undefined);
  assert.equal(expiryOf({}, { ttlSeconds: 60 }, now), now + 60_000);
  assert.equal(expiryOf({}, { maxTtlSeconds: 30 }, now), now + 30_000);
  assert.equal(expiryOf({}, { ttlSeconds: 60, maxTtlSeconds: 30 }, now), now + 30_000);
});

test('the longest time that is allowed is allowed', () => {
  const config = { maxTtlSeconds: 60 };
  assert.equal(expiryOf(at('2026-03-01T10:01:00Z'), config, now), now + 60_000);
});

test('a time that is none, is over, or too far away is refused by name', () => {
  const wrong = [
    'tomorrow',
    '2026-03-02',
    '2026-03-02T10:00:00',
    '2026-13-02T10:00:00Z',
    7,
    null,
    '2026-03-01T10:00:00Z',
    '2026-03-01T09:59:59Z',
    '2026-03-01T10:01:01Z',
  ];
  for (const value of wrong) {
    const refused = { kind: 'invalidParams', message: /^expiresAt: / };
    assert.throws(() => expiryOf(at(value), { maxTtlSeconds: 60 }, now), refused, String(value));
  }
});
