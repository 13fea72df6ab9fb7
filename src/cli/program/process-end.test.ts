import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** Ends a process that closes in 300 ms with uncaught errors, and returns its exit code and standard error. */
function endOf(options: object, ...errors: string[]): { code: number | null; err: string } {
  const script = `
    import { onProcessEnd } from ${JSON.stringify(import.meta.resolve('./process-end.ts'))};
    const log = { debug() {}, info() {}, warn() {}, error() {}, async flush() {} };
    onProcessEnd(log, (code) => setTimeout(() => process.exit(code), 300), ${JSON.stringify(options)});
    for (const [index, message] of ${JSON.stringify(errors)}.entries()) {
      setTimeout(() => { throw new Error(message); }, 10 * index);
    }`;
  const args = ['--input-type=module', '-e', script];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { code: status, err: stderr };
}

test('what a library prints goes to the log while the process owns the screen', () => {
  const script = `
    import { onProcessEnd } from ${JSON.stringify(import.meta.resolve('./process-end.ts'))};
    const warn = (fields) => process.stdout.write(fields.said + '.');
    const log = { debug() {}, info() {}, warn, error() {}, async flush() {} };
    onProcessEnd(log, () => {}, { terminal: true });
    console.error('one', { two: 2 });
    console.log('three');`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.deepEqual([stdout, stderr], ['one { two: 2 }.three.', '']);
});

test('an uncaught error closes the process', () => {
  const { code, err } = endOf({}, 'first');
  assert.equal(code, 1);
  assert.match(err, /uncaught error: first/);
});

test('another uncaught error while a server closes ends it at once', () => {
  const { code, err } = endOf({}, 'first', 'second');
  assert.equal(code, 130);
  assert.match(err, /uncaught error: second/);
});

test('another uncaught error does not keep the terminal UI from restoring the screen', () => {
  const { code, err } = endOf({ terminal: true }, 'first', 'second');
  assert.equal(code, 1);
  assert.match(err, /uncaught error: second/);
});
