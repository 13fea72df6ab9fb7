import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RichResponse } from '../tool.ts';
import { McpError } from './mcp-error.ts';
import { readResult } from './mcp-result.ts';

const image = (length: number) =>
  ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(length) }) as const;

test('texts are joined, and a result without text is an empty text', () => {
  const word = (text: string) => ({ type: 'text', text }) as const;
  assert.equal(readResult({ content: [word('one'), word('two')] }), 'one\n\ntwo');
  assert.equal(readResult({ content: [] }), '');
});

test('bytes of a resource are a file with its address as name', () => {
  const resource = { uri: 'test://x', blob: 'AAAA' };
  const result = readResult({ content: [{ type: 'resource', resource }] });
  assert.ok(result instanceof RichResponse);
  const [part] = result.parts;
  const mediaType = 'application/octet-stream';
  assert.deepEqual(part, { kind: 'blob', mediaType, data: 'AAAA', name: 'test://x' });
});

test('images beyond the limits are replaced by a note', () => {
  const many = readResult({ content: Array.from({ length: 30 }, () => image(4)) });
  assert.ok(many instanceof RichResponse);
  assert.equal(many.parts.length, 20);
  assert.match(JSON.stringify(many.response), /image\/png of 4 characters omitted/);
  const large = readResult({ content: [image(11 * 2 ** 20)] });
  assert.match(JSON.stringify(large), /image\/png of 11534336 characters omitted/);
});

test('an error is short, and has a message even if the server sent none', () => {
  const failing = (content: Parameters<typeof readResult>[0]['content']) => () =>
    readResult({ isError: true, content });
  assert.throws(failing([]), /the tool failed/);
  assert.throws(
    failing([{ type: 'text', text: 'x'.repeat(1_000_000) }]),
    (error) => error instanceof McpError && error.code === 'tool' && error.message.length < 5_000,
  );
});
