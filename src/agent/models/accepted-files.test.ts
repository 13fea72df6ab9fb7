import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAcceptedBy } from './accepted-files.ts';

test('each vendor gets only the types of files that it accepts', () => {
  const accepted = (vendor: string, ...types: string[]): string[] =>
    types.filter((mediaType) => isAcceptedBy(vendor, { kind: 'blob', mediaType, data: '' }));
  const types = ['image/png', 'application/pdf', 'audio/wav', 'audio/midi', 'video/mp4', 'video/x'];
  assert.deepEqual(accepted('google.generative-ai', ...types), [
    'image/png',
    'application/pdf',
    'audio/wav',
    'video/mp4',
  ]);
  assert.deepEqual(accepted('anthropic.messages', ...types), ['image/png', 'application/pdf']);
  assert.deepEqual(accepted('openai-compatible.chat', ...types), ['image/png']);
});
