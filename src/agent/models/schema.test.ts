import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../base/index.ts';
import { z } from 'zod';
import { toolSchema } from './schema.ts';

function fromZod(schema: z.ZodType): JsonObject {
  return toolSchema(JSON.parse(JSON.stringify(z.toJSONSchema(schema))));
}

test("zod's schemas come out plain", () => {
  const schema = fromZod(
    z.object({
      kind: z.literal('a'),
      count: z.int(),
      tags: z.record(z.string(), z.string()).optional(),
      $schema: z.string().describe('a property of that name'),
    }),
  );
  assert.deepEqual(schema, {
    type: 'object',
    properties: {
      kind: { type: 'string', enum: ['a'] },
      count: { type: 'integer' },
      tags: { type: 'object', additionalProperties: { type: 'string' } },
      $schema: { type: 'string', description: 'a property of that name' },
    },
    required: ['kind', 'count', '$schema'],
    additionalProperties: false,
  });
});

test('alternatives at the root become one object that allows each of them', () => {
  const schema = fromZod(
    z.union([
      z.object({ id: z.string(), a: z.string() }),
      z.object({ id: z.string(), b: z.number() }),
    ]),
  );
  assert.deepEqual(schema, {
    type: 'object',
    properties: { id: { type: 'string' }, a: { type: 'string' }, b: { type: 'number' } },
    required: ['id'],
  });
});

test('alternatives may define the same property differently', () => {
  const schema = fromZod(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('add'), value: z.string() }),
      z.object({ kind: z.literal('remove'), value: z.number() }),
      z.object({ kind: z.literal('clear') }),
    ]),
  );
  assert.deepEqual(schema, {
    type: 'object',
    properties: {
      kind: { type: 'string', enum: ['add', 'remove', 'clear'] },
      value: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    },
    required: ['kind'],
  });
});

test('a property that only one alternative requires is optional, even beside allOf', () => {
  const schema = toolSchema({
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
    allOf: [{ properties: { a: { type: 'string' } }, required: ['c'] }],
    properties: { b: { type: 'string' }, c: { type: 'string' } },
  });
  assert.deepEqual(schema, {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    required: ['c'],
  });
});

test('an empty schema becomes that of an object', () => {
  assert.deepEqual(toolSchema({}), { type: 'object', properties: {} });
});

test('a schema that is nested without end is cut', () => {
  let schema: JsonObject = { type: 'string' };
  for (let depth = 0; depth < 5000; depth++) schema = { type: 'array', items: schema };
  assert(JSON.stringify(toolSchema({ properties: { deep: schema } })).length < 10_000);
});
