import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dispatcher } from 'undici';
import { ByteBudget, ConnectionError } from '../../client/index.ts';
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
async function open(first: Buffer, decoding = decode) {
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
    decoding,
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

test('the chunks of a text that arrive together are passed on together, and an incomplete one with its rest', async () => {
  const frame = (seq: number) => `id: ${seq}\ndata: {"text":"chunk ${seq}"}\n\n`;
  const artifactOf = (json: string): StreamEvent => {
    const { text }: { text: string } = JSON.parse(json);
    const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text }] };
    return { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact };
  };
  const { exchange, data, end } = await open(Buffer.from(frame(1)), artifactOf);
  const taken: unknown[] = [];
  let ready = true;
  const read = exchange.each({
    isReady: () => ready,
    take({ event, seq }) {
      ready = false;
      const [part] = event.kind === 'artifact-update' ? event.artifact.parts : [];
      taken.push([seq, part?.kind === 'text' && part.text]);
      return true;
    },
  });
  ready = true;
  data(Buffer.from(frame(2) + frame(3) + frame(4).slice(0, 12)));
  const known = [1, 2, 3].map((seq) => [seq, `chunk ${seq}`]);
  assert.deepEqual(taken, known);
  ready = true;
  data(Buffer.from(frame(4).slice(12) + frame(5)));
  assert.deepEqual(
    taken,
    [...known, [4, 'chunk 4']],
    'the parser has the rest, one event at a time',
  );
  ready = true;
  exchange.more();
  assert.deepEqual(taken.at(-1), [5, 'chunk 5']);
  end();
  await read;
});

test('a request that is closed before its response begins rejects, whole or as a stream', async () => {
  for (const how of ['whole', 'stream'] as const) {
    const closing = new AbortController();
    const dispatcher = { dispatch: () => true } as unknown as Dispatcher;
    const budget = new ByteBudget(1000);
    const exchange = new Exchange(dispatcher, budget, 1000, closing.signal, decode);
    const response = how === 'whole' ? exchange.whole(request) : exchange.stream(request, true);
    const closed = new ConnectionError('closed', 'the execution has ended');
    closing.abort(closed);
    await assert.rejects(response, closed);
  }
});
