import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../../base/index.ts';
import fc from 'fast-check';
import { createEvent } from '../event.ts';
import { stateScopeOf, storedChanges, storedEvent } from './state.ts';

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
    assert.equal(stateScopeOf(key), scope);
  });
}

test('any string is a key, and none reaches a prototype', () => {
  const stateDelta = JSON.parse('{"__proto__": {"polluted": true}, "temp:x": 1}');
  assert.deepEqual([...storedChanges(stateDelta)], [['session', '__proto__', { polluted: true }]]);
  const kept = storedEvent(createEvent(run, { actions: { stateDelta } }))?.actions.stateDelta ?? {};
  assert.deepEqual(Object.keys(kept), ['__proto__']);
  assert.equal('polluted' in kept, false);
});

test('the stored changes of a delta are its keys but the temporary ones, each in its own scope', () => {
  fc.assert(
    fc.property(deltas, (delta) => {
      const changes = [...storedChanges(delta)];
      for (const [scope, key] of changes) assert.equal(scope, stateScopeOf(key));
      assert.deepEqual(
        Object.fromEntries(changes.map(([, key, value]) => [key, value])),
        Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith('temp:'))),
      );
    }),
  );
});

test('what is stored is made anew, and the event stays as it was', () => {
  fc.assert(
    fc.property(deltas, (stateDelta) => {
      const event = createEvent(run, { actions: { stateDelta } });
      const before = JSON.stringify(event);
      storedEvent(event);
      assert.equal(JSON.stringify(event), before);
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
