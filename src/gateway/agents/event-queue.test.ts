import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutorEvent } from '../../tasks/index.ts';
import { EventQueue } from './event-queue.ts';

const event = (name: string): ExecutorEvent => ({
  kind: 'status-update',
  state: 'working',
  message: name,
});

test('events arrive in their order, whether the reader waits for them or not', async () => {
  const queue = new EventQueue<ExecutorEvent>(async (out) => {
    out.push(event('a'));
    out.push(event('b'));
    await Promise.resolve();
    out.push(event('c'));
  });
  const read: unknown[] = [];
  for await (const each of queue) read.push(each.kind === 'status-update' && each.message);
  assert.deepEqual(read, ['a', 'b', 'c']);
});

test('an error comes after the events before it', async () => {
  const queue = new EventQueue<ExecutorEvent>(async (out) => {
    out.push(event('a'));
    throw new Error('broken');
  });
  assert.deepEqual(await queue.next(), { value: event('a'), done: false });
  await assert.rejects(queue.next(), /broken/);
});

test('the writer learns when an event is wanted', async () => {
  const wanted: boolean[] = [];
  const end = Promise.withResolvers<void>();
  const queue = new EventQueue<ExecutorEvent>(async (out) => {
    out.onWanted = () => {
      wanted.push(out.wanted);
      out.push(event('b'));
    };
    out.push(event('a'));
    assert.equal(out.wanted, false);
    await end.promise;
  });
  await queue.next();
  assert.deepEqual(wanted, []);
  assert.deepEqual(await queue.next(), { value: event('b'), done: false });
  assert.deepEqual(wanted, [true]);
  end.resolve();
  await queue.return();
});

test('a reader that leaves ends the work, and waits for its end', async () => {
  const left = Promise.withResolvers<void>();
  let ended = false;
  const queue = new EventQueue<ExecutorEvent>(async (out) => {
    out.onLeft = left.resolve;
    out.push(event('a'));
    out.push(event('b'));
    await left.promise;
    ended = true;
  });
  await queue.next();
  await queue.return();
  assert.ok(ended);
  assert.equal((await queue.next()).done, true);
});
