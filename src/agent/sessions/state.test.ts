import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createEvent } from '../event.ts';
import type { JsonValue } from '../json.ts';
import { applyDelta, scopeOf, storedChanges, storedEvent } from './state.ts';

const keys = fc
  .tuple(
    fc.constantFrom(
      '',
      'user:',
      'app:',
      'temp:',
      'user',
      'temp',
      'User:',
      'temp:user:',
      'user:temp:',
    ),
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('__proto__', 'constructor'),
    ),
  )
  .map(([prefix, rest]) => prefix + rest);
const json = fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const deltas = fc
  .array(fc.tuple(keys, fc.oneof(json, fc.constant(null))), { maxLength: 12 })
  .map((entries) => Object.fromEntries(entries));

const run = { runId: 'run', author: 'agent' };

for (const [key, scope] of [
  ['city', 'session'],
  ['user:city', 'user'],
  ['app:city', 'app'],
  ['temp:city', 'temp'],
  ['user', 'session'],
  ['USER:city', 'session'],
  ['temp:user:city', 'temp'],
  ['', 'session'],
  ['__proto__', 'session'],
] as const) {
  test(`the scope of ${JSON.stringify(key)} is ${scope}`, () => {
    assert.equal(scopeOf(key), scope);
  });
}

test('a delta sets, replaces and removes keys, and leaves the others', () => {
  const state = applyDelta({ a: 1, b: 2, c: 3 }, { a: null, b: [2], d: 'new' });
  assert.deepEqual(state, { b: [2], c: 3, d: 'new' });
});

test('any string is a key, and none reaches a prototype', () => {
  const delta: Record<string, JsonValue> = JSON.parse('{"__proto__": {"polluted": true}}');
  const state = applyDelta({}, delta);
  assert.deepEqual(Object.keys(state), ['__proto__']);
  assert.equal('polluted' in {}, false);
  assert.equal('polluted' in state, false);
});

test('the stored changes of a delta are its keys but the temporary ones, each in its own scope', () => {
  fc.assert(
    fc.property(deltas, (delta) => {
      const changes = [...storedChanges(delta)];
      for (const [scope, key] of changes) assert.equal(scope, scopeOf(key));
      assert.deepEqual(
        Object.fromEntries(changes.map(([, key, value]) => [key, value])),
        Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith('temp:'))),
      );
    }),
  );
});

test('two deltas in turn are the same as their union, the second winning', () => {
  fc.assert(
    fc.property(deltas, deltas, deltas, (state, first, second) => {
      const start = applyDelta({}, state);
      assert.deepEqual(
        applyDelta(applyDelta(start, first), second),
        applyDelta(
          start,
          Object.fromEntries([...Object.entries(first), ...Object.entries(second)]),
        ),
      );
    }),
  );
});

test('a delta changes neither the state nor itself', () => {
  fc.assert(
    fc.property(deltas, deltas, (state, delta) => {
      const before = JSON.stringify([state, delta]);
      applyDelta(state, delta);
      assert.equal(JSON.stringify([state, delta]), before);
    }),
  );
});

test('an event is stored without its temporary keys and otherwise as it is', () => {
  fc.assert(
    fc.property(deltas, (stateDelta) => {
      const event = createEvent(run, { actions: { stateDelta, escalate: true } });
      const stored = storedEvent(event);
      assert.ok(stored);
      const kept = Object.entries(stateDelta).filter(([key]) => !key.startsWith('temp:'));
      assert.deepEqual(Object.entries(stored.actions.stateDelta ?? {}), kept);
      assert.equal(stored.actions.escalate, true);
      assert.equal(stored.id, event.id);
    }),
  );
});

test('a partial event is not stored', () => {
  assert.equal(storedEvent(createEvent(run, { partial: true })), undefined);
});
