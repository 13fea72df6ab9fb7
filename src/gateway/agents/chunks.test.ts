// Chunks that are not parsed are what they would have been.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { v03, v1, type StreamEvent } from '../../protocol/index.ts';
import { ChunkReader } from './chunks.ts';

function chunk(text: string, append: boolean, rest: object = {}): object {
  const artifact = { artifactId: 'a', parts: [{ text, ...rest }] };
  return { artifactUpdate: { taskId: 't', contextId: 'c', artifact, append } };
}

const tricky = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '","x":"',
    '"text":"',
    '\u2028',
    '\n',
    '\u0007',
    '"}]',
    'é',
    '🙂',
  ),
  fc
    .array(fc.constantFrom('\\', '"', 'a', '"text":"', '}'), { maxLength: 6 })
    .map((all) => all.join('')),
);

test('whatever the texts are, every chunk is read as a parser would', () => {
  const event = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(tricky, fc.boolean()).map(([text, append]) => chunk(text, append)),
    },
    tricky.map((text) => chunk('same', true, { metadata: { text } })),
    tricky.map((text) => ({
      statusUpdate: {
        taskId: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_WORKING' },
        metadata: { text },
      },
    })),
  );
  fc.assert(
    fc.property(fc.array(event, { minLength: 2, maxLength: 12 }), (events) => {
      const parse = (data: string): StreamEvent => v1.decodeEvent(JSON.parse(data));
      const reader = new ChunkReader(parse);
      for (const each of events) {
        const data = JSON.stringify(each);
        assert.deepEqual(reader.read(data, 'message'), parse(data));
      }
    }),
    { numRuns: 500 },
  );
});

/** JSON as a server may write it that means no good: any white space, names twice, letters of names escaped. */
function hostile(part: string, around: string, letter: string): (text: string) => string {
  const literal = (text: string) => JSON.stringify(text).replaceAll('<', letter);
  return (text) => {
    const parts = part.replaceAll('TEXT', () => literal(text));
    return around.replace('PARTS', () => parts);
  };
}

test('nor does it matter how it is written: names twice, escaped names, white space, text in other places', () => {
  const part = fc
    .array(
      fc.constantFrom(
        '"text":TEXT',
        '"text":"fixed"',
        '"text" : "fixed"',
        '"text": "fixed"',
        '"te\\u0078t":"fixed"',
        '"te\\u0078t":TEXT',
        '"kind":"text"',
        '"metadata":{"text":TEXT}',
        '"metadata":{"text" :TEXT}',
        '"data":{"text":TEXT}',
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((fields) => `{${fields.join(',')}}`);
  const around = fc.constantFrom(
    '{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[PARTS]}}}',
    '{"artifactUpdate":{"artifact":{"parts":[PARTS],"artifactId":"a","name":"\\"text\\":\\"fixed\\""},"contextId":"c","taskId":"t"}}',
    '{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[PARTS],"parts":[{"text" :"fixed"}]}}}',
    '{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text" :"fixed"}],"parts":[PARTS]}}}',
    ' { "artifactUpdate" : {"metadata":{"text" : "fixed"},"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[ PARTS ]} } } ',
  );
  const texts = fc.array(fc.oneof(tricky, fc.constantFrom('fixed', '<', '\ud800', '\0')), {
    minLength: 3,
    maxLength: 6,
  });
  const letter = fc.constantFrom('<', '\\u003c', '\\ud83d', '\\/');
  fc.assert(
    fc.property(part, around, letter, texts, (inside, outside, as, all) => {
      const write = hostile(inside, outside, as);
      const parse = (data: string): StreamEvent => v1.decodeEvent(JSON.parse(data));
      const reader = new ChunkReader(parse);
      for (const text of ['fixed', ...all]) {
        const data = write(text);
        let whole: StreamEvent;
        try {
          whole = parse(data);
        } catch {
          assert.throws(() => reader.read(data, 'message'));
          continue;
        }
        assert.deepEqual(reader.read(data, 'message'), whole);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a stream of chunks is parsed once, and again where something else than the text changes', () => {
  const wire = (text: string, last: boolean) =>
    JSON.stringify({
      kind: 'artifact-update',
      taskId: 't',
      contextId: 'c',
      artifact: { artifactId: 'a', parts: [{ kind: 'text', text }] },
      append: true,
      lastChunk: last,
    });
  let parsed = 0;
  const reader = new ChunkReader((data) => {
    parsed++;
    return v03.decodeEvent(JSON.parse(data));
  });
  for (let n = 0; n < 100; n++) reader.read(wire(`${n}`, n === 99), 'message');
  assert.equal(parsed, 2);
});

test('what is no JSON is not taken for a chunk, and other JSON not for the same', () => {
  const reader = new ChunkReader((data) => v1.decodeEvent(JSON.parse(data)));
  const good = JSON.stringify(chunk('one', true));
  reader.read(good, 'message');
  for (const bad of ['two"', '\\', 'a\nb']) {
    assert.throws(
      () =>
        reader.read(
          good.replace('one', () => bad),
          'message',
        ),
      SyntaxError,
    );
  }
  const more = good.replace('one', () => 'two","filename":"b');
  assert.deepEqual(reader.read(more, 'message'), v1.decodeEvent(JSON.parse(more)));
});
