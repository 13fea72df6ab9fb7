import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { Turns } from './turns.ts';

test('work with the same key runs in the order of the calls, also after failed work', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const work = (name: string, fails = false) =>
    turns.run('a', async () => {
      order.push(`${name} starts`);
      await setImmediate();
      order.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  const results = await Promise.allSettled([work('first', true), work('second'), work('third')]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(order, [
    'first starts',
    'first ends',
    'second starts',
    'second ends',
    'third starts',
    'third ends',
  ]);
});

test('work with several keys waits for all of them, and work with other keys does not wait', async () => {
  const turns = new Turns();
  const gates = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
  const started: string[] = [];
  const run = (keys: string | string[], name: string, until?: Promise<void>) =>
    turns.run(keys, async () => {
      started.push(name);
      await until;
    });
  const all = [
    run('a', 'a', gates.a.promise),
    run('b', 'b', gates.b.promise),
    run(['a', 'b', 'a'], 'both'),
    run(['b', 'a'], 'both again'),
    run('c', 'c'),
  ];
  await setImmediate();
  assert.deepEqual(started, ['a', 'b', 'c']);
  gates.b.resolve();
  await setImmediate();
  assert.deepEqual(started, ['a', 'b', 'c']);
  gates.a.resolve();
  await Promise.all(all);
  assert.deepEqual(started, ['a', 'b', 'c', 'both', 'both again']);
});

test('the length of a queue counts the running and the waiting work', async () => {
  const turns = new Turns();
  const all = [turns.run('a', async () => {}), turns.run(['a', 'b', 'a'], async () => {})];
  assert.equal(turns.length('a'), 2);
  assert.equal(turns.length('b'), 1);
  assert.equal(turns.length('c'), 0);
  await Promise.all(all);
  assert.equal(turns.length('a'), 0);
});
