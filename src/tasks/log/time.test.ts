import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestamp } from './time.ts';

test('the text of the time is the one of toISOString, in every millisecond', (t) => {
  const start = Date.UTC(2026, 11, 31, 23, 59, 58, 990);
  t.mock.timers.enable({ apis: ['Date'], now: start });
  // The clock may also be set back.
  for (const step of [0, 1, 8, 1, 1, 999, 1, 5, -2000, 3000, 0]) {
    t.mock.timers.setTime(Date.now() + step);
    assert.equal(timestamp(), new Date().toISOString());
  }
});
