import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SseLimitError, createSseParser, type SseEvent } from './sse.ts';

function parse(...chunks: (string | Uint8Array)[]): SseEvent[] {
  const parser = createSseParser();
  return chunks.flatMap((chunk) => parser(chunk));
}

function dataOf(...chunks: string[]): string[] {
  return parse(...chunks).map((event) => event.data);
}

test('lines end with LF, CR or CRLF alike', () => {
  for (const end of ['\n', '\r', '\r\n']) {
    assert.deepEqual(dataOf(`data: a${end}${end}data: b${end}${end}`), ['a', 'b']);
  }
});

test('a CRLF that is split between two chunks is one line end', () => {
  assert.deepEqual(dataOf('data: a\r', '\ndata: b\r', '\n\r', '\n'), ['a\nb']);
});

test('an event is complete at the CR, without waiting for what follows', () => {
  assert.deepEqual(dataOf('data: a\r\r'), ['a']);
});

test('comments are skipped', () => {
  assert.deepEqual(dataOf(': heartbeat\n\n:\n\ndata: a\n:in between\ndata: b\n\n'), ['a\nb']);
});

test('one space behind the colon is not part of the value, a second is', () => {
  assert.deepEqual(dataOf('data:a\n\ndata: a\n\ndata:  a\n\n'), ['a', 'a', ' a']);
});

test('a field without a colon has an empty value', () => {
  assert.deepEqual(dataOf('data\n\n'), ['']);
});

test('an event without data is none', () => {
  assert.deepEqual(parse('event: x\nid: 1\n\nretry: 10\n\n'), []);
});

test('an event has its own type and id, and no other event’s', () => {
  assert.deepEqual(parse('event: error\nid: 7\ndata: a\n\ndata: b\n\n'), [
    { type: 'error', data: 'a', id: '7' },
    { type: 'message', data: 'b', id: undefined },
  ]);
});

test('an id with a NUL in it is ignored', () => {
  assert.equal(parse('id: 1\0\ndata: a\n\n')[0]?.id, undefined);
});

test('a byte order mark in front is not part of the first field', () => {
  assert.deepEqual(dataOf('\uFEFFdata: a\n\n'), ['a']);
  const bytes = new TextEncoder().encode('\uFEFFdata: \uFEFFa\n\n');
  assert.deepEqual(
    parse(bytes.subarray(0, 1), bytes.subarray(1, 2), bytes.subarray(2)).map(({ data }) => data),
    ['\uFEFFa'],
  );
});

test('an event that no empty line closes is not an event', () => {
  assert.deepEqual(dataOf('data: a\n\ndata: {"half":'), ['a']);
});

test('a line without end is refused as soon as it is too long', () => {
  const parser = createSseParser(100);
  assert.throws(() => {
    for (let n = 0; n < 20; n++) parser('x'.repeat(10));
  }, SseLimitError);
});

test('an event of many lines is refused as soon as it is too long', () => {
  const parser = createSseParser(100);
  assert.throws(() => {
    for (let n = 0; n < 20; n++) parser('data: 123456789\n');
  }, SseLimitError);
});

test('the limit is one event’s, not the stream’s', () => {
  const parser = createSseParser(20);
  for (let n = 0; n < 100; n++) assert.equal(parser(`: beat\ndata: 12345678\n\n`).length, 1);
});

const line = fc.oneof(
  fc.constantFrom('', ':', 'data', 'data:', 'event: x', 'id: 3', ': comment', 'nonsense: 1'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text}`),
  fc.string({ unit: 'binary', maxLength: 8 }),
);
const text = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 })
  .map((lines) => lines.flat().join(''));

test('any chunking of the bytes gives the same events', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(300), { maxLength: 30 }), (stream, cuts) => {
      const bytes = new TextEncoder().encode(stream);
      const places = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].toSorted(
        (a, b) => a - b,
      );
      const chunks: Uint8Array[] = [];
      let from = 0;
      for (const place of [...places, bytes.length]) {
        chunks.push(bytes.subarray(from, place));
        from = place;
      }
      assert.deepEqual(parse(...chunks), parse(bytes));
    }),
    { numRuns: 500 },
  );
});
