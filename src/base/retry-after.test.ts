import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './retry-after.ts';

test('a delay is in seconds or a date, and never negative', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  const delays = {
    '0': 0,
    '2': 2000,
    '0.5': 500,
    '-3': 0,
    'Thu, 01 Jan 2026 00:00:07 GMT': 7000,
    'Wed, 31 Dec 2025 00:00:00 GMT': 0,
  };
  for (const [header, ms] of Object.entries(delays)) assert.equal(retryAfterMs(header), ms, header);
});

test('a header that is missing or invalid is no delay', () => {
  for (const header of [null, undefined, '', ' ', 'soon', 'Infinity']) {
    assert.equal(retryAfterMs(header), undefined);
  }
});
