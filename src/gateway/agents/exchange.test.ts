import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dispatcher } from 'undici';
import { ByteBudget } from '../../client/index.ts';
import type { StreamEvent } from '../../protocol/index.ts';
import { Exchange } from './exchange.ts';

const request: Dispatcher.DispatchOptions = {
  origin: 'http://a.example',
  path: '/',
  method: 'POST',
};
const frames = (...texts: string[]) =>
  Buffer.from(texts.map((text) => `data: ${text}\n\n`).join(''));

function decode(text: string): StreamEvent {
  if (text === 'bad') throw new Error('invalid event');
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: text, role: 'agent', parts };
}

/** Opens a stream whose bytes the test provides. */
async function open(first: Buffer) {
  let handler: Dispatcher.DispatchHandler | undefined;
  const dispatcher = {
    dispatch(_options: unknown, given: Dispatcher.DispatchHandler) {
      handler = given;
      return true;
    },
  };
  let paused = false;
  const aborted: unknown[] = [];
  const controller = {
    get paused() {
      return paused;
    },
    pause: () => (paused = true),
    resume: () => (paused = false),
    abort: (error: unknown) => aborted.push(error),
  } as unknown as Dispatcher.DispatchController;
  const exchange = new Exchange(
    dispatcher as unknown as Dispatcher,
    new ByteBudget(1_000_000),
    100_000,
    undefined,
    decode,
  );
  const opened = exchange.stream(request, true);
  handler?.onRequestStart?.(controller, {});
  handler?.onResponseStart?.(controller, 200, { 'content-type': 'text/event-stream' }, 'OK');
  const data = (bytes: Buffer) => handler?.onResponseData?.(controller, bytes);
  const end = () => handler?.onResponseEnd?.(controller, {});
  data(first);
  assert.equal(await opened, exchange);
  return { exchange, data, end, aborted };
}

const idOf = ({ event }: { event: StreamEvent }) => event.kind === 'message' && event.messageId;

test('the items of a stream arrive in their order, and its end after them', async () => {
  const { exchange, data, end } = await open(frames('a', 'b'));
  data(frames('c'));
  end();
  const ids: unknown[] = [];
  for await (const item of exchange) ids.push(idOf(item));
  assert.deepEqual(ids, ['a', 'b', 'c']);
});

test('a reader gets no item while it is not ready or works on another', async () => {
  const { exchange, data, end } = await open(frames('a'));
  const taken: unknown[] = [];
  const work = Promise.withResolvers<boolean>();
  let ready = false;
  const read = exchange.each({
    isReady: () => ready,
    take(item) {
      taken.push(idOf(item));
      return taken.length === 1 ? work.promise : true;
    },
  });
  assert.deepEqual(taken, []);
  ready = true;
  exchange.more();
  data(frames('b'));
  end();
  assert.deepEqual(taken, ['a']);
  work.resolve(true);
  await read;
  assert.deepEqual(taken, ['a', 'b']);
});

test('an invalid event ends the reading with its error, and aborts the request', async () => {
  const { exchange, data, aborted } = await open(frames('a'));
  const taken: unknown[] = [];
  const take = (item: { event: StreamEvent }) => taken.push(idOf(item)) > 0;
  const read = exchange.each({ isReady: () => true, take });
  data(frames('bad', 'c'));
  await assert.rejects(read, /invalid event/);
  assert.deepEqual(taken, ['a']);
  assert.equal(aborted.length, 1);
});

test('a reader that leaves does not wait for the unread items of a stream that has ended', async () => {
  const { exchange, end } = await open(frames('a', 'b', 'c'));
  end();
  for await (const item of exchange) {
    assert.equal(idOf(item), 'a');
    break;
  }
});

test('a reader may want no more than the first item', async () => {
  const { exchange, end } = await open(frames('a', 'b'));
  const taken: unknown[] = [];
  const reading = exchange.each({
    isReady: () => true,
    take: (item) => (taken.push(idOf(item)), false),
  });
  await reading;
  assert.deepEqual(taken, ['a']);
  end();
});
