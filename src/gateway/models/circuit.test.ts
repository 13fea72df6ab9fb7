import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCircuit, type Circuit } from './circuit.ts';

function circuit() {
  let time = 0;
  const made = createCircuit({ failures: 3, windowMs: 1000, openMs: 500 }, () => time);
  return { circuit: made, pass: (ms: number) => void (time += ms) };
}

function fail(made: Circuit, times: number): void {
  for (let count = 0; count < times; count++) made.enter()?.failed();
}

test('opens after so many failures, and says for how long', () => {
  const { circuit: made } = circuit();
  fail(made, 2);
  assert.equal(made.open, false);
  fail(made, 1);
  assert.equal(made.open, true);
  assert.equal(made.enter(), undefined);
  assert.equal(made.waitMs, 500);
});

test('a success in between, and time, make failures forgotten', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 2);
  made.enter()?.ok();
  fail(made, 2);
  pass(1001);
  fail(made, 2);
  assert.equal(made.open, false);
});

test('lets one through after a while; it closes when that one succeeds', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 3);
  pass(500);
  assert.equal(made.waitMs, 0);
  const probe = made.enter();
  assert(probe);
  assert.equal(made.enter(), undefined, 'one at a time');
  assert(made.waitMs > 0);
  probe.ok();
  assert.equal(made.open, false);
  assert(made.enter());
});

test('opens anew when that one fails', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 3);
  pass(500);
  fail(made, 1);
  assert.equal(made.enter(), undefined);
  assert.equal(made.waitMs, 500);
});

test('closes as soon as that one begins to answer, and an answer that breaks off then is one failure', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 3);
  pass(500);
  const probe = made.enter();
  probe?.begun();
  assert.equal(made.open, false);
  assert(made.enter(), 'nobody waits for the end of the answer');
  probe?.failed();
  assert.equal(made.open, false);
  fail(made, 2);
  assert.equal(made.open, true);
});

test('when that one is left by its caller, the next one is let through', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 3);
  pass(500);
  made.enter()?.leave();
  assert(made.enter());
});

test('calls from before it opened change nothing when they end', () => {
  const { circuit: made } = circuit();
  const early = made.enter();
  fail(made, 3);
  early?.ok();
  assert.equal(made.open, true);
});
