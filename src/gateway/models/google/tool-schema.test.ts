import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonSchemaOf } from './tool-schema.ts';

test('a nullable schema accepts null, whichever keywords it has', () => {
  assert.deepEqual(jsonSchemaOf({ type: 'STRING', nullable: true }), { type: ['string', 'null'] });
  assert.deepEqual(jsonSchemaOf({ type: 'STRING', enum: ['a', 'b'], nullable: true }), {
    type: ['string', 'null'],
    enum: ['a', 'b', null],
  });
  assert.deepEqual(jsonSchemaOf({ any_of: [{ type: 'STRING' }], nullable: true }), {
    anyOf: [{ type: 'string' }, { type: 'null' }],
  });
  assert.deepEqual(jsonSchemaOf({ type: 'TYPE_UNSPECIFIED', nullable: true }), {});
  assert.deepEqual(jsonSchemaOf({ type: 'STRING', nullable: false }), { type: 'string' });
});

test('a list of types is in lower case, and contains null once', () => {
  const type = ['STRING', 'NULL'];
  assert.deepEqual(jsonSchemaOf({ type }), { type: ['string', 'null'] });
  assert.deepEqual(jsonSchemaOf({ type, nullable: true }), { type: ['string', 'null'] });
});
