import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryClock } from './expiry-clock.ts';

test('a clock for expiry goes on when the system clock is set back, and while the machine sleeps', () => {
  const at = { system: 1_000_000, running: 0 };
  const clock = expiryClock(
    () => at.system,
    () => at.running,
  );
  assert.equal(clock(), 0);
  at.system -= 600_000;
  at.running += 100;
  assert.equal(clock(), 100);
  at.system += 5000;
  assert.equal(clock(), 5100);
});
