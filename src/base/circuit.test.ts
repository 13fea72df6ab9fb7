import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCircuits, type CircuitSettings, type Permit } from './circuit.ts';

/** Circuits with a clock of their own, and the circuit of the model `m` as the workspace `a` sees it. */
function circuit(settings: Partial<CircuitSettings> = {}) {
  let time = 0;
  const all = createCircuits({ failures: 3, windowMs: 1000, openMs: 500, ...settings }, () => time);
  const of = (caller: string, model = 'm') => ({
    enter: (): Permit | undefined => all.enter(model, caller),
    get waitMs() {
      return all.wait(model, caller)?.ms ?? 0;
    },
    get open() {
      return all.open;
    },
  });
  return { all, of, circuit: of('a'), pass: (ms: number) => void (time += ms) };
}

function fail(made: { enter(): Permit | undefined }, times: number): void {
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

test('a caller that fails, however often, opens the circuit for itself only', () => {
  const { of } = circuit({ failures: 5 });
  fail(of('a'), 100);
  assert.equal(of('a').enter(), undefined);
  assert(of('b').enter());
  assert.equal(of('b').waitMs, 0);
  fail(of('b'), 1);
  assert(of('b').enter(), 'one failure of another caller changes nothing');
  assert(of('c').enter());
});

test('a circuit that is set to open at the first failure needs two callers to open for all', () => {
  const { of } = circuit({ failures: 1 });
  fail(of('a'), 5);
  assert(of('c').enter());
  fail(of('b'), 1);
  assert.equal(of('c').enter(), undefined);
});

test('failures of several callers open the circuit for all, and a success of any caller resets the count', () => {
  const { of } = circuit({ failures: 5 });
  fail(of('a'), 2);
  fail(of('b'), 2);
  of('c').enter()?.ok();
  fail(of('c'), 1);
  assert(of('d').enter(), 'the success reset the count');
  fail(of('a'), 2);
  fail(of('b'), 2);
  assert.equal(of('d').enter(), undefined);
  assert.equal(of('d').waitMs, 500);
});

test('a probe that one caller fails does not keep the circuit open for another', () => {
  const { of, pass } = circuit({ failures: 2 });
  fail(of('a'), 1);
  fail(of('b'), 1);
  assert.equal(of('c').enter(), undefined);
  pass(500);
  fail(of('a'), 1);
  assert.equal(of('a').enter(), undefined);
  of('c').enter()?.ok();
  assert(of('b').enter(), 'the success of another caller closes it');
  assert.equal(of('a').enter(), undefined, 'but not for the caller whose own probe failed');
});

test('each model of a provider has its own circuit', () => {
  const { of } = circuit();
  fail(of('a', 'bad'), 3);
  assert.equal(of('a', 'bad').enter(), undefined);
  assert(of('a', 'good').enter());
});

test('a pause that the provider asks for holds for all callers, but not longer than the circuit would be open', () => {
  const { all, of, pass } = circuit();
  const retryAfterMs = 60_000;
  const cause = { retryAfterMs };
  all.pause('m', 'a', cause);
  assert.equal(of('a').waitMs, 60_000);
  assert.equal(of('b').waitMs, 500);
  assert.equal(of('b', 'other').waitMs, 0);
  assert.equal(all.wait('m', 'b')?.cause, cause);
  pass(500);
  assert.equal(of('b').waitMs, 0);
  pass(60_000);
  assert.equal(of('a').waitMs, 0);
});

test('many failures at once do not open a circuit that has a minimum age of its failures', () => {
  const { circuit: made, pass } = circuit({ minMs: 100 });
  fail(made, 50);
  assert.equal(made.open, false);
  pass(100);
  fail(made, 1);
  assert.equal(made.open, true);
});

test('if the clock is set back, an open circuit and a pause last no longer than before', () => {
  const { all, circuit: made, pass } = circuit();
  fail(made, 3);
  pass(-86_400_000);
  assert.equal(made.waitMs, 500);
  pass(500);
  made.enter()?.ok();
  all.pause('m', 'a', { retryAfterMs: 200 });
  pass(-86_400_000);
  assert.equal(made.waitMs, 200);
  pass(200);
  assert.equal(made.waitMs, 0);
});

test('if the clock is set forward, an open circuit lets one call through', () => {
  const { circuit: made, pass } = circuit();
  fail(made, 3);
  pass(86_400_000);
  assert.ok(made.enter());
});

test('an earlier call that succeeds during a probe neither allows a second probe nor hides the failure of the first', () => {
  const { of, pass } = circuit({ failures: 2 });
  const earlier = of('c').enter();
  fail(of('a'), 1);
  fail(of('b'), 1);
  assert.equal(of('c').enter(), undefined, 'open for all callers');
  pass(500);
  const probe = of('c').enter();
  assert(probe);
  earlier?.ok();
  assert.equal(of('c').enter(), undefined, 'one probe at a time');
  probe.failed();
  assert.equal(of('c').enter(), undefined);
  assert.equal(of('c').waitMs, 500);
});
