import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { PageQuery } from './fields.ts';

test('a page is asked for in text, and has a size where nobody says one', () => {
  assert.deepEqual(PageQuery.parse({ limit: '7', offset: '010' }), { limit: 7, offset: 10 });
  assert.deepEqual(PageQuery.parse({}), { limit: 50, offset: 0 });
  for (const limit of ['', '0', '101', '-1', '1.5', '1e1', '0x1', ' 1', 'x']) {
    const { error } = PageQuery.safeParse({ limit });
    assert.equal(error?.issues[0]?.message, 'a whole number from 1 to 100', limit);
  }
});

test('the schema of a page says its numbers', () => {
  const { properties } = z.toJSONSchema(PageQuery, { io: 'input' });
  assert.deepEqual(properties?.['limit'], {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 50,
  });
});
