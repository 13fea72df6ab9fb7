import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { test } from 'node:test';
import { call, callRich, makeWorkspace } from '../../../test/support/workspace.ts';
import { readFileTool } from './read-file.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

function lines(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`).join('\n');
}

test('a text comes with its lines numbered, and without numbers for people', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': 'one\n\ttwo\n' });
  const { response, display } = await callRich(readFileTool(workspace), { path: 'a.txt' });
  assert.equal(response, '1\tone\n2\t\ttwo');
  assert.deepEqual(display, { text: 'one\n\ttwo' });
});

test('a range says where it is and how to go on', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': lines(1, 10) });
  const read = readFileTool(workspace);
  assert.equal(
    await call(read, { path: 'a.txt', offset: 3, limit: 2 }),
    '3\tline 3\n4\tline 4\n[lines 3 to 4 of 10; continue with offset 5]',
  );
  assert.equal(
    await call(read, { path: 'a.txt', offset: 10 }),
    '10\tline 10\n[lines 10 to 10 of 10]',
  );
  await assert.rejects(call(read, { path: 'a.txt', offset: 11 }), /has only 10 lines/);
});

test('of a long file the beginning is shown, and no more than fits', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    'many.txt': lines(1, 5000),
    'wide.txt': `${'x'.repeat(1900)}\n`.repeat(100),
  });
  const many = await call(readFileTool(workspace), { path: 'many.txt' });
  assert.match(many, /\n2000\tline 2000\n\[lines 1 to 2000 of 5000; continue with offset 2001\]$/);
  const wide = await call(readFileTool(workspace), { path: 'wide.txt' });
  assert.ok(wide.length < 70_000);
  assert.match(wide, /\[lines 1 to 34 of 100; continue with offset 35\]$/);
});

test('going on from offset to offset reads every line once', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': `${lines(1, 4321)}\n` });
  const read = readFileTool(workspace);
  const seen: string[] = [];
  let offset: number | undefined = 1;
  while (offset !== undefined) {
    const answer: string = await call(read, { path: 'a.txt', offset });
    seen.push(...answer.split('\n').filter((line) => !line.startsWith('[')));
    const next = /continue with offset (\d+)/.exec(answer)?.[1];
    offset = next === undefined ? undefined : Number(next);
  }
  assert.equal(seen.map((line) => line.replace(/^\d+\t/, '')).join('\n'), lines(1, 4321));
});

test('a long line is cut, between characters', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': `x${'é'.repeat(5000)}\nnext\n` });
  const answer = await call(readFileTool(workspace), { path: 'a.txt' });
  assert.equal(
    answer,
    `1\tx${'é'.repeat(999)}\n2\tnext\n[lines longer than 2000 bytes were truncated]`,
  );
});

test('line ends do not matter, nor that the last one is missing', async (t) => {
  const { workspace } = await makeWorkspace(t, { crlf: 'a\r\nb\r\n', none: 'a\nb', blank: '\n' });
  const read = readFileTool(workspace);
  assert.equal(await call(read, { path: 'crlf' }), '1\ta\n2\tb');
  assert.equal(await call(read, { path: 'none' }), '1\ta\n2\tb');
  assert.equal(await call(read, { path: 'blank' }), '1\t');
});

test('an empty file says that it is', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': '' });
  assert.equal(await call(readFileTool(workspace), { path: 'a.txt' }), '[a.txt is empty]');
});

test('a picture is shown to the model, by what it is and not by its name', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'picture.txt': PNG });
  const { response, parts } = await callRich(readFileTool(workspace), { path: 'picture.txt' });
  assert.equal(response, '[picture.txt: image/png, 16 bytes]');
  assert.deepEqual(parts, [
    { kind: 'blob', mediaType: 'image/png', data: PNG.toString('base64'), name: 'picture.txt' },
  ]);
});

test('a file that is not text is refused with its kind and size', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    data: Buffer.from([1, 0, 2]),
    'a.pdf': '%PDF-1.7 and so on',
  });
  const read = readFileTool(workspace);
  await assert.rejects(call(read, { path: 'data' }), /not text: binary data, 3 bytes/);
  await assert.rejects(call(read, { path: 'a.pdf' }), /not text: PDF document/);
});

test('bytes that are not UTF-8 are shown as such, with a warning', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': Buffer.from('caf\xe9\n', 'latin1') });
  const answer = await call(readFileTool(workspace), { path: 'a.txt' });
  assert.match(answer, /^1\tcaf\ufffd\n\[some bytes are not UTF-8/);
});

test('a huge file costs what is shown of it', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { huge: 'first\n' });
  const file = await open(at('huge'), 'r+');
  await file.write(Buffer.from('line\n'.repeat(4000)), 0, null, 6);
  // A hole of 2 GB behind it.
  await file.truncate(2 * 1024 ** 3);
  await file.close();
  const before = process.memoryUsage().rss;
  const answer = await call(readFileTool(workspace), { path: 'huge', limit: 3 });
  assert.match(answer, /^1\tfirst\n2\tline\n3\tline\n\[lines 1 to 3 of more than \d+, 2048\.0 MB/);
  assert.ok(process.memoryUsage().rss - before < 50 * 1024 * 1024);
});

test('reading stops when the run is aborted', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'a.txt': 'x' });
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(call(readFileTool(workspace), { path: 'a.txt' }, { signal }), /enough/);
});

test('what is not there and what is a folder is said plainly', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'folder/a.txt': 'x' });
  const read = readFileTool(workspace);
  await assert.rejects(call(read, { path: 'nothing' }), { message: 'nothing does not exist' });
  await assert.rejects(call(read, { path: 'folder' }), { message: 'folder is a folder' });
  await assert.rejects(
    call(read, { path: 'folder/a.txt/b' }),
    /inside something that is not a folder/,
  );
  await assert.rejects(call(read, { path: 'a', offset: 0 }), /offset/);
});

test('people are told what is read', async (t) => {
  const { workspace } = await makeWorkspace(t);
  const read = readFileTool(workspace);
  assert.equal(read.describe({ path: 'a.txt' }), 'Read a.txt');
  assert.equal(read.describe({ path: 'a.txt', offset: 7 }), 'Read a.txt from line 7');
  assert.equal(read.effect, 'read');
});
