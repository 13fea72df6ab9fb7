import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
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

test('an abort of the signal closes the feed, and an ended feed no longer listens', async () => {
  const { signal, abort } = listened();
  const feed = feedOf();
  feed.closeOn(signal);
  feed.give(event(1));
  feed.give(event(2));
  await feed.next();
  abort();
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
  assert.equal(getEventListeners(signal, 'abort').length, 0);

  const ways: ((ended: LiveFeed) => unknown)[] = [
    (ended) => ended.return(),
    (ended) => ended.end(),
    async (ended) => {
      ended.give(event(1));
      ended.end();
      // The last item can still be dropped by an abort.
      assert.equal(getEventListeners(other.signal, 'abort').length, 1);
      await ended.next();
      await ended.next();
    },
  ];
  const other = listened();
  for (const end of ways) {
    const ended = feedOf();
    ended.closeOn(other.signal);
    await end(ended);
    assert.equal(getEventListeners(other.signal, 'abort').length, 0);
  }
  const late = feedOf();
  late.closeOn(signal);
  assert.deepEqual(await late.next(), { done: true, value: undefined });
});

function listened() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
