import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RichResponse } from '../tool.ts';
import { McpError } from './mcp-error.ts';
import { readResult, type McpFile } from './mcp-result.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1').toString('base64');
const image = (length: number, mimeType = 'image/png') =>
  ({ type: 'image', mimeType, data: PNG.padEnd(length, 'A') }) as const;
const word = (text: string) => ({ type: 'text', text }) as const;

test('texts are joined, and a result without text is an empty text', async () => {
  assert.equal(await readResult({ content: [word('one'), word('two')] }), 'one\n\ntwo');
  assert.equal(await readResult({ content: [] }), '');
});

test('structured data is returned beside the text', async () => {
  const structuredContent = { rows: 2 };
  const result = await readResult({ content: [word('Done, see the rows.')], structuredContent });
  assert.deepEqual(result, { content: 'Done, see the rows.', structuredContent });
  assert.deepEqual(await readResult({ content: [], structuredContent }), structuredContent);
});

test('text and structured data that say the same are returned once', async () => {
  for (const [texts, structuredContent, expected] of [
    [['{"b":[1],"a":2}'], { a: 2, b: [1] }, { a: 2, b: [1] }],
    [['a long text'], { content: 'a long text' }, 'a long text'],
    [['5'], { result: 5 }, { result: 5 }],
    [['{"id":1}', 'two'], { result: [{ id: 1 }, 'two'] }, { result: [{ id: 1 }, 'two'] }],
  ] as const) {
    assert.deepEqual(await readResult({ content: texts.map(word), structuredContent }), expected);
  }
});

test('a file that no model accepts is saved, and the model gets a note with its path, type and size', async () => {
  const saved: McpFile[] = [];
  const save = (file: McpFile) => Promise.resolve(`/data/${saved.push(file)}.bin`);
  const resource = { uri: 'test://x', blob: 'AAAA', mimeType: 'application/zip' };
  const content = [word('here'), { type: 'resource', resource } as const, word('it is')];
  const zip = await readResult({ content }, save);
  assert.equal(zip, 'here\n\n[test://x: application/zip, 3 bytes, saved as /data/1.bin]\n\nit is');
  assert.deepEqual(saved, [{ bytes: Buffer.alloc(3), mediaType: 'application/zip' }]);
  assert.equal(
    await readResult({ content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] }),
    '[image/png, 3 bytes, not shown]',
  );
});

test('an image has the type of its bytes, audio is saved as well, and text in a blob is text', async () => {
  const jpeg = await readResult({ content: [image(40, 'image/jpg')] });
  assert.ok(jpeg instanceof RichResponse);
  assert.equal(jpeg.parts[0]?.mediaType, 'image/png');
  const sound = { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' } as const;
  const heard = await readResult({ content: [sound] }, () => Promise.resolve('/data/a.wav'));
  assert.ok(heard instanceof RichResponse);
  assert.equal(heard.response, '[audio/wav, 3 bytes, saved as /data/a.wav]');
  assert.equal(heard.parts.length, 1);
  const blob = Buffer.from('words').toString('base64');
  const resource = { uri: 'test://t', blob, mimeType: 'text/plain' };
  assert.equal(await readResult({ content: [{ type: 'resource', resource }] }), 'test://t\nwords');
});

test('images beyond the limits are replaced by a note', async () => {
  const many = await readResult({ content: Array.from({ length: 30 }, () => image(12)) });
  assert.ok(many instanceof RichResponse);
  assert.equal(many.parts.length, 20);
  assert.match(JSON.stringify(many.response), /image\/png, 9 bytes, not shown/);
  const large = await readResult({ content: [image(6 * 2 ** 20)] });
  assert.equal(large, '[image/png, 4.5 MB, not shown]');
});

test('the number of files that are saved is limited', async () => {
  const file = { type: 'image' as const, mimeType: 'image/x-odd', data: '' };
  const saved: unknown[] = [];
  const result = await readResult({ content: Array.from({ length: 1000 }, () => file) }, (each) => {
    saved.push(each);
    return Promise.resolve('/saved');
  });
  assert.equal(saved.length, 50);
  assert.ok(typeof result === 'string');
  assert.match(result, /\[950 more files omitted\]$/);
});

test('an error is short, and has a message even if the server sent none', async () => {
  const failing = (content: Parameters<typeof readResult>[0]['content']) =>
    readResult({ isError: true, content });
  await assert.rejects(failing([]), /the tool failed/);
  await assert.rejects(
    failing([{ type: 'text', text: 'x'.repeat(1_000_000) }]),
    (error) => error instanceof McpError && error.code === 'tool' && error.message.length < 5_000,
  );
});

test('the name and the media type of a link are limited in length', async () => {
  const link = {
    type: 'resource_link',
    uri: 'https://example.org/a',
    name: 'n'.repeat(5000),
  } as const;
  const result = await readResult({ content: [{ ...link, mimeType: `text/${'m'.repeat(5000)}` }] });
  assert.ok(result instanceof RichResponse);
  const [part] = result.parts;
  assert.equal(part?.kind, 'file');
  assert.equal(part?.name?.length, 200);
  assert.equal(part?.mediaType?.length, 200);
});
