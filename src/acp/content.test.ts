import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '@agentclientprotocol/sdk';
import { blockFrom, partsFrom } from './content.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('text stays text, and a link to a file becomes a mention at its position', () => {
  const parts = partsFrom([
    { type: 'text', text: 'see ' },
    { type: 'resource_link', uri: 'file:///project/a%20b.ts', name: 'a b.ts' },
  ]);
  assert.deepEqual(parts, [
    { kind: 'text', text: 'see ' },
    { kind: 'text', text: '@"/project/a b.ts"' },
  ]);
});

test('a link to another URL, or with a quote in its path, becomes a file part with a URI', () => {
  for (const uri of ['https://example.com/a', 'file:///project/%22.ts', 'not an address']) {
    const [part] = partsFrom([{ type: 'resource_link', uri, name: 'a', mimeType: 'text/plain' }]);
    assert.deepEqual(part, { kind: 'file', file: { uri, name: 'a', mimeType: 'text/plain' } });
  }
});

test('an embedded resource becomes a file part, named by its path and lines', () => {
  const uri = 'file:///project/a.ts#L3:9';
  const name = '/project/a.ts#L3:9';
  const shown = { kind: 'text', text: `\`${name}\`` };
  assert.deepEqual(partsFrom([{ type: 'resource', resource: { uri, text: 'hé' } }]), [
    shown,
    { kind: 'file', file: { bytes: base64('hé'), name } },
  ]);
  const blob = { uri, blob: 'AAEC', mimeType: 'application/zip' };
  assert.deepEqual(partsFrom([{ type: 'resource', resource: blob }]), [
    shown,
    { kind: 'file', file: { bytes: 'AAEC', name, mimeType: 'application/zip' } },
  ]);
});

test('an image becomes a file part, and is shown to other clients as an image', () => {
  const [part] = partsFrom([{ type: 'image', data: 'AAEC', mimeType: 'image/png' }]);
  assert.deepEqual(part, { kind: 'file', file: { bytes: 'AAEC', mimeType: 'image/png' } });
  assert.deepEqual(part && blockFrom(part), { type: 'image', data: 'AAEC', mimeType: 'image/png' });
});

test('audio, an empty prompt and too many blocks are refused', () => {
  const text = { type: 'text', text: 'a' } as const;
  for (const blocks of [
    [{ type: 'audio', data: 'AAEC', mimeType: 'audio/wav' } as const],
    [],
    Array.from({ length: 257 }, () => text),
  ]) {
    assert.throws(() => partsFrom(blocks), RequestError);
  }
});
