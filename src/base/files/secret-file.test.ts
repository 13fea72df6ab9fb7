import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
