import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as own from './tool.ts';

/** The same module, loaded a second time. */
const copy = (await import(`${import.meta.resolve('./tool.ts')}?copy`)) as typeof own;

test('what a tool returns is known, also when the tool came with another copy of the package', () => {
  const question = { id: 'q', kind: 'input', text: 'Which?', agent: 'a' } as const;
  assert.notEqual(copy.Waiting, own.Waiting);
  assert.ok(new copy.Waiting(question) instanceof own.Waiting);
  assert.ok(new copy.RichResponse('x', {}) instanceof own.RichResponse);
});

test('one is not taken for the other, nor anything else for one of them', () => {
  for (const value of [new own.RichResponse('x', {}), { question: 'x' }, null, 'Waiting', []]) {
    assert.ok(!((value as unknown) instanceof own.Waiting));
  }
  assert.ok(!(({ response: 'x', parts: [] } as unknown) instanceof own.RichResponse));
});
