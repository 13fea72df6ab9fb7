import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { imagePathsIn, withImages } from './prompt-images.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('paths are found in the forms in which terminals paste them', () => {
  const cases: [text: string, paths: string[]][] = [
    ['/a/shot.png', ['/a/shot.png']],
    ["'/a/my shot.PNG' what is this?", ['/a/my shot.PNG']],
    ['see "/a/my shot.webp".', ['/a/my shot.webp']],
    ['what is /a/my\\ shot.jpg?', ['/a/my shot.jpg']],
    ['file:///a/my%20shot.gif and ~/b.jpeg', ['/a/my shot.gif', '/home/ann/b.jpeg']],
    ['/a/x.png /a/x.png\n/a/y.png', ['/a/x.png', '/a/y.png']],
    ['see https://host/a.png, a.png, ./a.png and me/a.png', []],
    ['/etc/passwd and /a/notes.txt', []],
  ];
  for (const [text, paths] of cases) {
    assert.deepEqual(imagePathsIn(text, '/home/ann'), paths, text);
  }
});

test('an image outside the workspace is attached with its type, and what is not one is left out', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-images-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => path.join(folder, name);
  writeFileSync(at('dot.jpg'), Buffer.from(PNG, 'base64'));
  writeFileSync(at('text.png'), 'the secret');
  writeFileSync(at('large.png'), Buffer.alloc(4_000_000));
  execFileSync('mkfifo', [at('pipe.png')]);
  const file = { name: 'dot.jpg', mimeType: 'image/png', bytes: PNG };
  const asked = `what is ${pathToFileURL(at('dot.jpg')).href}?`;
  assert.deepEqual(await withImages(asked), [
    { kind: 'text', text: asked },
    { kind: 'file', file },
  ]);
  for (const name of ['pipe.png', 'missing.png'])
    assert.equal(await withImages(at(name)), at(name));
  const noted = await withImages(`${at('text.png')} ${at('large.png')}`);
  assert.match(
    JSON.stringify(noted),
    /Not attached: text\.png: not a PNG, JPEG, GIF or WebP image/,
  );
  assert.match(JSON.stringify(noted), /large\.png: 3\.8 MB, the limit is 3\.6 MB/);
  assert.doesNotMatch(JSON.stringify(noted), /the secret/);
});

test('a hostile text is searched in linear time', () => {
  const text = "'/".repeat(100_000) + '/\\'.repeat(100_000);
  const begun = performance.now();
  imagePathsIn(text);
  assert.ok(performance.now() - begun < 2000);
});
