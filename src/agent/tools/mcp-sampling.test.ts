import assert from 'node:assert/strict';
import { test } from 'node:test';
import { samplingArguments } from './mcp-sampling.ts';

test('stop sequences count towards the size of a request', () => {
  const messages = [{ role: 'user', content: { type: 'text', text: 'Hello' } } as const];
  const stopSequences = ['x'.repeat(60_000), 'y'.repeat(60_000)];
  assert.equal(
    samplingArguments({ messages, maxTokens: 10, stopSequences }),
    'a request must have at most 100000 characters',
  );
  const args = samplingArguments({ messages, maxTokens: 10, stopSequences: ['x'] });
  assert.ok(typeof args === 'object');
  assert.deepEqual(args['stop_sequences'], ['x']);
});
