import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRetention } from './store-location.ts';

const DAY = 86_400_000;

test('--retention takes an age, a size, or both, in any order', () => {
  assert.deepEqual(parseRetention('7d'), { maxAgeMs: 7 * DAY });
  assert.deepEqual(parseRetention('500MB'), { maxBytes: 500e6 });
  assert.deepEqual(parseRetention('1.5gb, 36h'), { maxAgeMs: 1.5 * DAY, maxBytes: 1.5e9 });
  assert.deepEqual(parseRetention('off'), { maxAgeMs: Infinity, maxBytes: Infinity });
  assert.equal(parseRetention(undefined), undefined);
});

for (const text of ['', '7', 'd', '7x', '7d,8d', '1GB,2GB', '7d,', '-1d', 'off,7d', '1e9d']) {
  test(`--retention ${JSON.stringify(text)} is refused with the forms that are allowed`, () => {
    assert.throws(() => parseRetention(text), /use an age such as 30d or 12h, a size such as 2GB/);
  });
}
