import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isObject } from '../base/index.ts';
import * as z from 'zod';
import { A2AError } from './errors.ts';
import { inspectJson, MAX_JSON_DEPTH, parseWith } from './json.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('ordinary JSON passes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      if (!text.includes('"__proto__"')) inspectJson(JSON.parse(text));
    }),
  );
});

test('JSON is so deep at most, in lists, objects and both', () => {
  inspectJson(nested(MAX_JSON_DEPTH));
  inspectJson({ a: nested(MAX_JSON_DEPTH - 1) });
  for (const deep of [nested(MAX_JSON_DEPTH + 1), { a: nested(MAX_JSON_DEPTH) }, nested(100_000)]) {
    assert.throws(() => inspectJson(deep), { kind: 'invalidRequest' });
  }
});

test('a __proto__ key is refused at any depth', () => {
  for (const text of [
    '{"__proto__":1}',
    '[{"a":{"__proto__":{}}}]',
    '{"a":[[{"__proto__":null}]]}',
  ]) {
    assert.throws(() => inspectJson(JSON.parse(text)), { kind: 'invalidParams' });
  }
  inspectJson({ proto: 1, constructor: 2, prototype: 3 });
});

test('what does not fit a schema is named, with at most ten fields', () => {
  const schema = z.object({ list: z.array(z.number()) });
  assert.deepEqual(parseWith(schema, { list: [1] }), { list: [1] });
  assert.throws(
    () => parseWith(schema, { list: Array.from({ length: 50 }, () => 'x') }, 'wishes'),
    (error: unknown) => {
      assert.ok(error instanceof A2AError);
      assert.equal(error.code, -32602);
      assert.match(error.message, /^Invalid wishes: list\.0: /);
      assert.equal(error.detail.violations?.length, 10);
      return true;
    },
  );
});

test('an object is neither null nor a list', () => {
  assert.equal(isObject({}), true);
  for (const other of [null, [], 'x', 1, undefined]) assert.equal(isObject(other), false);
});
