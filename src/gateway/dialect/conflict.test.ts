import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { ContextMismatchError } from '../../tasks/index.ts';
import { dialectError } from './conflict.ts';

test("a context that is not the task's is a wrong sessionId", () => {
  const error = dialectError(new ContextMismatchError(), 'message');
  assert.ok(error instanceof A2AError);
  assert.equal(error.kind, 'invalidParams');
  assert.match(error.message, /^sessionId: /);
});

test('another invalid parameter stays as it is, whatever its wording', () => {
  const error = new A2AError('invalidParams', 'message.contextId: is too long');
  assert.equal(dialectError(error, 'message'), error);
});
