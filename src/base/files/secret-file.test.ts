import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readOrCreateSecret, writePrivateFile } from './index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-secret-'));
after(() => rmSync(folder, { recursive: true }));

test('a secret is created once, for its owner only, and leaves no draft behind', () => {
  const file = path.join(folder, 'a', 'b', 'secret');
  assert.equal(readOrCreateSecret(file, () => 'one').toString(), 'one');
  assert.equal(readOrCreateSecret(file, () => 'two').toString(), 'one');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(path.dirname(file)), ['secret']);
});

test('if another process creates the secret at the same time, its secret is the one', () => {
  const file = path.join(folder, 'raced');
  const secret = readOrCreateSecret(file, () => {
    writeFileSync(file, 'the other');
    return 'mine';
  });
  assert.equal(secret.toString(), 'the other');
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('raced')),
    ['raced'],
  );
});

test('a write that the disk does not take fails, and the file stays as it was', () => {
  const file = path.join(folder, 'settings');
  writeFileSync(file, 'before');
  const program = `
    const { writePrivateFile } = await import(${JSON.stringify(path.join(import.meta.dirname, 'index.ts'))});
    try {
      writePrivateFile(${JSON.stringify(file)}, 'x'.repeat(5000));
    } catch (error) {
      process.stdout.write(error.code);
    }`;
  // Files of at most two blocks of 1 KB. Without the trap, the signal of the limit would end the process.
  const script = 'ulimit -f 2; trap "" XFSZ; exec "$0" --input-type=module --eval "$1"';
  const printed = execFileSync('bash', ['-c', script, process.execPath, program]);
  assert.equal(String(printed), 'EFBIG');
  assert.equal(readFileSync(file, 'utf8'), 'before');
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('settings')),
    ['settings'],
  );
});

test('links are kept: the last target is written, whether it exists or not', () => {
  const place = path.join(folder, 'links');
  mkdirSync(path.join(place, 'deep'), { recursive: true });
  symlinkSync('deep', path.join(place, 'other'));
  symlinkSync(path.join('other', 'second'), path.join(place, 'first'));
  // Seen from `deep`, the real folder of `other`.
  symlinkSync(path.join('..', 'target'), path.join(place, 'deep', 'second'));
  for (const text of ['one', 'two']) {
    writePrivateFile(path.join(place, 'first'), text);
    assert.ok(lstatSync(path.join(place, 'first')).isSymbolicLink());
    assert.ok(lstatSync(path.join(place, 'deep', 'second')).isSymbolicLink());
    assert.ok(lstatSync(path.join(place, 'target')).isFile());
    assert.equal(readFileSync(path.join(place, 'target'), 'utf8'), text);
  }
});

test('a pipe, a folder, and links that lead to themselves are refused', () => {
  const at = (name: string) => path.join(folder, name);
  execFileSync('mkfifo', [at('pipe')]);
  symlinkSync('pipe', at('to-pipe'));
  mkdirSync(at('empty-folder'));
  symlinkSync('loop', at('loop'));
  for (const name of ['pipe', 'to-pipe', 'empty-folder']) {
    assert.throws(() => writePrivateFile(at(name), 'x'), /is not a regular file/, name);
  }
  assert.throws(() => writePrivateFile(at('loop'), 'x'), /too many symbolic links/);
  assert.ok(statSync(at('to-pipe')).isFIFO());
});
