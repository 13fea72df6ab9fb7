import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { mcpFiles } from './mcp-files.ts';

test('a file is saved for the user only, and the oldest files are removed', async (t) => {
  const data = await mkdtemp(path.join(tmpdir(), 'parley-mcp-files-'));
  t.after(() => rm(data, { recursive: true }));
  const folder = path.join(data, 'mcp-files');
  await mkdir(folder, { mode: 0o700 });
  const older = Array.from({ length: 203 }, (_, at) => path.join(folder, `2020${at}.bin`));
  await Promise.all(older.map((file) => writeFile(file, 'old')));
  const save = mcpFiles(data, () => assert.fail());
  const last = (await save({ bytes: Buffer.from('new'), mediaType: 'audio/wav' })) ?? '';
  assert.match(last, /mcp-files\/\d+-[0-9a-f]{8}\.wav$/);
  assert.equal(await readFile(last, 'utf8'), 'new');
  assert.equal((await stat(last)).mode & 0o777, 0o600);
  assert.equal((await readdir(path.dirname(last))).length, 200);
  const odd = await save({ bytes: Buffer.alloc(1), mediaType: 'image/../../etc/passwd x' });
  assert.equal(path.dirname(odd ?? ''), path.dirname(last));
});

test('an old file that cannot be removed is reported, and the new file is still returned', async (t) => {
  const data = await mkdtemp(path.join(tmpdir(), 'parley-mcp-files-'));
  t.after(() => rm(data, { recursive: true }));
  const folder = path.join(data, 'mcp-files');
  // A folder is not removed like a file.
  const odd = Array.from({ length: 200 }, (_, at) => path.join(folder, `2020${at}.bin`));
  for (const each of odd) await mkdir(each, { recursive: true });
  const problems: unknown[] = [];
  const save = mcpFiles(data, (error) => void problems.push(error));
  const file = await save({ bytes: Buffer.from('new'), mediaType: 'audio/wav' });
  assert.equal(await readFile(file ?? '', 'utf8'), 'new');
  assert.equal(problems.length, 1);
});

test('a folder that cannot be written is reported, and does not fail the call', async () => {
  const problems: unknown[] = [];
  const save = mcpFiles('/dev/null', (error) => void problems.push(error));
  assert.equal(await save({ bytes: Buffer.alloc(1), mediaType: 'a/b' }), undefined);
  assert.equal(problems.length, 1);
});
