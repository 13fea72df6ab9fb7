import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { exclusively } from './exclusive.ts';

/** A process that holds the lock of `file` until its standard input ends, and then writes `the other` to the file. */
async function holder(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-exclusive-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'notes');
  const program = `
    const { once } = await import('node:events');
    const { writeFile } = await import('node:fs/promises');
    const { exclusively } = await import('${path.join(import.meta.dirname, 'exclusive.ts')}');
    await exclusively(${JSON.stringify(file)}, async () => {
      console.log('held');
      process.stdin.resume();
      await once(process.stdin, 'end');
      await writeFile(${JSON.stringify(file)}, 'the other');
    });`;
  const args = ['--conditions=parley-source', '--input-type=module', '--eval', program];
  const other = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  return { file, other };
}

test('work waits until another process has finished its work on the file', async (t) => {
  const { file, other } = await holder(t);
  const seen = exclusively(file, () => readFile(file, 'utf8'));
  other.stdin.end();
  assert.equal(await seen, 'the other');
});

test('a process that was killed does not block the others', async (t) => {
  const { file, other } = await holder(t);
  const written = exclusively(file, () => writeFile(file, 'mine'));
  other.kill('SIGKILL');
  await written;
  assert.equal(await readFile(file, 'utf8'), 'mine');
});

test('work that fails releases the file', async (t) => {
  const { file, other } = await holder(t);
  other.stdin.end();
  await once(other, 'close');
  await assert.rejects(
    exclusively(file, () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await exclusively(file, () => readFile(file, 'utf8')), 'the other');
});
