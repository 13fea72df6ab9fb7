import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyClock } from './steady-clock.ts';

test('a clock with a running time goes on when the system clock is set back, and while the machine sleeps', () => {
  const at = { system: 1_000_000, running: 0 };
  const clock = steadyClock(
    () => at.system,
    () => at.running,
  );
  assert.equal(clock(), 1_000_000);
  at.system -= 600_000;
  at.running += 100;
  assert.equal(clock(), 1_000_100);
  at.system += 5000;
  assert.equal(clock(), 1_005_100);
});

test('a clock without a running time stands still at the moment when its source is set back', () => {
  let at = 1000;
  const clock = steadyClock(() => at);
  at = 1500;
  assert.equal(clock(), 1500);
  at = 200;
  assert.equal(clock(), 1500);
  at = 300;
  assert.equal(clock(), 1600);
});
