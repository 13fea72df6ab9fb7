import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readOrCreateSecret } from './index.ts';

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
