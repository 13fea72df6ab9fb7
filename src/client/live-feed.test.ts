import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveItem } from './live.ts';
import { LiveFeed } from './live-feed.ts';

const presence = (from: string): LiveItem => ({
  kind: 'presence',
  clients: [],
  queued: [{ text: '', from }],
});

function event(seq: number): LiveItem {
  const status = { state: 'working' } as const;
  const ids = { taskId: 't', contextId: 'c' };
  const told = { kind: 'status-update', ...ids, status, final: false } as const;
  return { kind: 'event', taskId: 't', seq, event: told };
}

test('what comes is given in its order, to one who waits and to one who comes later', async () => {
  const feed = new LiveFeed(() => undefined);
  const first = feed.next();
  feed.give(event(1));
  feed.give(event(2));
  assert.deepEqual(await first, { done: false, value: event(1) });
  assert.deepEqual(await feed.next(), { done: false, value: event(2) });
});

test('of comings and goings in a row only the latest is kept', async () => {
  const feed = new LiveFeed(() => undefined);
  for (const item of [presence('a'), presence('b'), event(1), presence('c')]) feed.give(item);
  feed.end();
  const given: LiveItem[] = [];
  for await (const item of feed) given.push(item);
  assert.deepEqual(given, [presence('b'), event(1), presence('c')]);
});

test('it says when it is full, and when it is empty again', async () => {
  let empty = 0;
  const feed = new LiveFeed(() => empty++);
  let seq = 1;
  while (feed.give(event(seq))) seq++;
  assert.ok(seq > 1000);
  for (let left = seq; left > 1; left--) await feed.next();
  assert.equal(empty, 0);
  await feed.next();
  assert.equal(empty, 1);
});

test('an error comes behind what was there before it, once', async () => {
  const feed = new LiveFeed(() => undefined);
  feed.give(event(1));
  feed.end(new Error('broken'));
  await feed.next();
  await assert.rejects(feed.next(), /broken/);
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
});

test('whoever leaves gets nothing more', async () => {
  const feed = new LiveFeed(() => undefined);
  const waiting = feed.next();
  await feed.return();
  assert.deepEqual(await waiting, { done: true, value: undefined });
  feed.give(event(1));
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
});
