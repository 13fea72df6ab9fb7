import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LogEntry, TaskState } from '../../protocol/index.ts';
import { Published } from './published.ts';
import { type EndReason, LogReader, type Readable, type Sink } from './reader.ts';

const tick = () => new Promise((resolve) => setImmediate(resolve));

function entry(seq: number, state?: TaskState): LogEntry {
  if (state !== undefined) {
    const event = {
      kind: 'status-update' as const,
      taskId: 't',
      contextId: 'c',
      status: { state },
    };
    return { seq, event: { ...event, final: state !== 'working' } };
  }
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: `${seq}` }] };
  return { seq, event: { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact } };
}

/** A log in memory; reads may take a turn of the event loop. */
class TestLog implements Readable {
  readonly entries: LogEntry[] = [];
  readonly readers = new Set<LogReader>();
  reads = 0;
  /** Entries that were read, also in vain. */
  touched = 0;
  largest = 0;
  readonly slow: boolean;

  constructor(slow = false) {
    this.slow = slow;
  }

  /** Entries that are appended and not stored yet. */
  unstored = 0;

  get stored(): number {
    return this.entries.length;
  }

  get seq(): number {
    return this.stored + this.unstored;
  }

  read(after: number, limit: number) {
    this.reads++;
    const found = this.entries.slice(after, after + limit);
    this.touched += found.length;
    this.largest = Math.max(this.largest, found.length);
    return this.slow ? tick().then(() => found) : found;
  }

  addReader(reader: LogReader): void {
    this.readers.add(reader);
  }

  forget(reader: LogReader): void {
    this.readers.delete(reader);
  }

  publish(state?: TaskState): void {
    const next = entry(this.stored + 1, state);
    this.entries.push(next);
    for (const reader of this.readers) reader.offer(new Published(next));
  }

  open(after: number, sink: Sink): LogReader {
    const reader = new LogReader(this, after, sink);
    this.addReader(reader);
    return reader;
  }
}

function collector(hasRoom: () => boolean = () => true, endless?: boolean) {
  const seen: number[] = [];
  const ended: EndReason[] = [];
  const sink: Sink = {
    take({ seq }) {
      assert.equal(ended.length, 0, 'nothing comes after the end');
      seen.push(seq);
      return hasRoom();
    },
    end: (reason) => void ended.push(reason),
    ...(endless !== undefined && { endless }),
  };
  return { seen, ended, sink };
}

const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, at) => at + first);

test('however a reader stops and goes on, it gets every entry once and in order', async () => {
  const step = fc.oneof(
    fc.record({ publish: fc.integer({ min: 1, max: 100 }) }),
    fc.constant('resume' as const),
    fc.constant('tick' as const),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.infiniteStream(fc.boolean()),
      fc.boolean(),
      fc.nat(5),
      async (steps, room, slow, before) => {
        const log = new TestLog(slow);
        for (let n = 0; n < before; n++) log.publish();
        const { seen, ended, sink } = collector(() => room.next().value as boolean);
        const reader = log.open(0, sink);
        for (const one of steps) {
          if (one === 'resume') reader.resume();
          else if (one === 'tick') await tick();
          else for (let n = 0; n < one.publish; n++) log.publish();
          assert.deepEqual(seen, upTo(seen.length));
          assert.equal(reader.cursor, seen.length);
        }
        log.publish('completed');
        for (let turn = 0; turn < 10_000 && ended.length === 0; turn++) {
          reader.resume();
          await tick();
        }
        assert.deepEqual(seen, upTo(log.stored));
        assert.deepEqual(ended, ['final']);
        assert.equal(log.readers.size, 0);
      },
    ),
    { numRuns: 60 },
  );
});

test('a reader waits until it is resumed, and then gets what is stored and what comes', async () => {
  const log = new TestLog();
  log.publish();
  const { seen, sink } = collector();
  const reader = log.open(0, sink);
  log.publish();
  await tick();
  assert.deepEqual(seen, []);
  reader.resume();
  assert.deepEqual(seen, [1, 2]);
  log.publish();
  assert.deepEqual(seen, [1, 2, 3]);
});

test('a reader that does not read is left alone, and costs no reading', async () => {
  const log = new TestLog();
  const { seen, sink } = collector(() => false);
  const reader = log.open(0, sink);
  reader.resume();
  for (let n = 0; n < 1000; n++) log.publish();
  await tick();
  assert.deepEqual(seen, [1]);
  assert.equal(log.reads, 0);
  reader.resume();
  assert.deepEqual(seen, [1, 2]);
  assert.ok(log.largest <= 64, 'in small pieces');
});

test('a long log is read in pieces, with turns for others between them', async () => {
  const log = new TestLog();
  for (let n = 0; n < 1000; n++) log.publish();
  const { seen, sink } = collector();
  log.open(0, sink).resume();
  assert.ok(seen.length <= 64);
  while (seen.length < 1000) await tick();
  assert.deepEqual(seen, upTo(1000));
});

test('a settled state ends a reader, unless it is endless', async () => {
  for (const state of ['completed', 'failed', 'input-required'] as const) {
    const log = new TestLog();
    const ending = collector();
    const endless = collector(undefined, true);
    log.open(0, ending.sink).resume();
    log.open(0, endless.sink).resume();
    log.publish();
    log.publish(state);
    log.publish('working');
    assert.deepEqual(ending.seen, [1, 2]);
    assert.deepEqual(ending.ended, ['final']);
    assert.deepEqual(endless.seen, [1, 2, 3]);
    assert.deepEqual(endless.ended, []);
  }
});

test('a settled state is no end where the log goes on, stored or not yet', async () => {
  for (const slow of [false, true]) {
    const log = new TestLog(slow);
    for (const state of ['working', 'input-required', 'working'] as const) log.publish(state);
    const late = collector();
    log.open(0, late.sink).resume();
    while (late.seen.length < 3) await tick();
    assert.deepEqual(late.ended, []);
    log.unstored = 1;
    log.publish('input-required');
    log.unstored = 0;
    log.publish('working');
    log.publish('completed');
    while (late.ended.length === 0) await tick();
    assert.deepEqual(late.seen, upTo(6));
    assert.deepEqual(late.ended, ['final']);
  }
});

test('the log that closes ends a reader, but not one that is endless: that is for its owner', () => {
  const log = new TestLog();
  const ending = collector();
  const endless = collector(undefined, true);
  log.open(0, ending.sink).close('shutdown');
  const reader = log.open(0, endless.sink);
  reader.close('shutdown');
  assert.deepEqual([ending.ended, endless.ended], [['shutdown'], []]);
  reader.close();
  assert.deepEqual(endless.ended, ['closed']);
});

test('the last entry ends a reader also when its sink has no more room', () => {
  const log = new TestLog();
  const { ended, sink } = collector(() => false);
  log.open(0, sink).resume();
  log.publish('completed');
  assert.deepEqual(ended, ['final']);
});

test('a log that cannot be read, or has lost entries, ends the reader as lost', async () => {
  for (const read of [() => Promise.reject(new Error('disk')), () => []]) {
    const { ended, sink } = collector();
    const log = { seq: 5, stored: 5, read, addReader() {}, forget() {} };
    new LogReader(log, 0, sink).resume();
    await tick();
    assert.deepEqual(ended, ['lost']);
  }
});

test('a closed reader is forgotten, told once, and gets nothing more', async () => {
  const log = new TestLog(true);
  for (let n = 0; n < 200; n++) log.publish();
  const { seen, ended, sink } = collector();
  const reader = log.open(0, sink);
  reader.resume();
  await tick();
  reader.close();
  reader.close('shutdown');
  const had = seen.length;
  log.publish();
  reader.resume();
  await tick();
  await tick();
  assert.equal(seen.length, had);
  assert.deepEqual(ended, ['closed']);
  assert.equal(log.readers.size, 0);
});

test('a sink that takes one entry at a time does not make the reader read many in vain', () => {
  const log = new TestLog();
  for (let count = 0; count < 500; count++) log.publish();
  const { sink, seen } = collector(() => false);
  const reader = log.open(0, sink);
  for (let count = 0; count < 500; count++) reader.resume();
  assert.equal(seen.length, 500);
  assert.ok(log.touched < 3 * 500, `${log.touched} entries were read for 500`);
});
