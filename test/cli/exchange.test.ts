// The exchange at the end of docs/development-tool.md, typed into a shell as it stands there, against `parley serve`
// without a key and without a network.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { folder, serving } from './support.ts';

const root = path.resolve(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/development-tool.md'), 'utf8');
const scripts = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, script = '']) => script);

function scriptWith(words: string): string {
  const found = scripts.find((script) => script.includes(words));
  assert.ok(found, `no script of the page has ${words}`);
  return found;
}

/** A folder with a `parley` in it that runs the program from its sources. */
function commands(): string {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const main = path.join(root, 'src/cli/main.ts');
  const script = `#!/bin/sh\nexec "${process.execPath}" --conditions=parley-source "${main}" "$@"\n`;
  writeFileSync(path.join(bin, 'parley'), script);
  chmodSync(path.join(bin, 'parley'), 0o755);
  return bin;
}

test('the appendix of the extension can be typed as the page has it', async () => {
  const workspace = path.join(folder, 'work');
  mkdirSync(workspace);
  const server = await serving(['--workspace', workspace]);
  const hasCurl = spawnSync('curl', ['--version']).status === 0;
  const script = `set -e\n${scriptWith('proceed_once')}\n${hasCurl ? scriptWith('curl -sN') : ''}`;
  const here = script.replace('URL=http://localhost:41242', `URL=${server.url}`);
  const env = { ...process.env, PATH: `${commands()}:${process.env['PATH']}` };
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', here], { cwd: workspace, env });
  await server.stop();
  assert.match(stderr, /\? Write hello\.txt\n· input-required\n/);
  assert.match(stderr, /✓ Write hello\.txt\n· completed\n/);
  assert.match(stdout, /I wrote hello\.txt\.\nhelloContent of hello\.txt:\n/);
  if (hasCurl) assert.match(stdout, /"state":"completed"[^\n]*"final":true/);
  assert.equal(readFileSync(path.join(workspace, 'hello.txt'), 'utf8'), 'hello');
});
