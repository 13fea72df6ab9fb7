import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonResponse } from './tool-result.ts';

test('a thrown value that cannot be converted to text does not stop the conversion', () => {
  const value = {
    get field() {
      // A value without a prototype has no `toString`.
      throw Object.create(null);
    },
  };
  assert.equal(jsonResponse(value), '[unreadable: an unreadable value was thrown]');
});

test('the message of an error may be any value', () => {
  const error = new Error('x');
  Object.defineProperty(error, 'message', { value: { amount: 10n } });
  assert.deepEqual(jsonResponse(error), { error: { amount: '10' } });
});

test('a result of many long texts is limited before it is written as JSON', () => {
  const long = 'x'.repeat(100_000);
  const response = jsonResponse(Array.from({ length: 10_000 }, () => long));
  assert.ok(typeof response === 'string');
  assert.ok(response.length < 101_000);
});
