import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveItem } from './session.ts';
import { LiveFeed, type LiveFeedOptions } from './feed.ts';

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

function feedOf(options: Partial<LiveFeedOptions> = {}): LiveFeed {
  return new LiveFeed({ limit: 10, onEmpty() {}, ...options });
}

test('items come in order, to a waiting reader and to a later one', async () => {
  const feed = feedOf();
  const first = feed.next();
  feed.give(event(1));
  feed.give(event(2));
  assert.deepEqual(await first, { done: false, value: event(1) });
  assert.deepEqual(await feed.next(), { done: false, value: event(2) });
});

test('consecutive presence items are merged into the latest', async () => {
  const feed = feedOf();
  for (const item of [presence('a'), presence('b'), event(1), presence('c')]) feed.give(item);
  feed.end();
  const given: LiveItem[] = [];
  for await (const item of feed) given.push(item);
  assert.deepEqual(given, [presence('b'), event(1), presence('c')]);
});

test('the feed reports when it is full, and when it is empty again', async () => {
  let empty = 0;
  const feed = feedOf({ limit: 3, onEmpty: () => empty++ });
  assert.deepEqual(
    [1, 2, 3].map((seq) => feed.give(event(seq))),
    [true, true, false],
  );
  await feed.next();
  await feed.next();
  assert.equal(empty, 0);
  await feed.next();
  assert.equal(empty, 1);
});

test('an error comes once, after the items queued before it', async () => {
  const feed = feedOf();
  feed.give(event(1));
  feed.end(new Error('broken'));
  await feed.next();
  await assert.rejects(feed.next(), /broken/);
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
});

test('a closed iterator gets no more items', async () => {
  let left = 0;
  const feed = feedOf({ onLeave: () => left++ });
  const waiting = feed.next();
  await feed.return();
  assert.equal(left, 1);
  assert.deepEqual(await waiting, { done: true, value: undefined });
  feed.give(event(1));
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
});
