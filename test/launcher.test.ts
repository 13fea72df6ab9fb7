// bin/parley.js with a stand-in for the built program. An old Node is this one that gives another version.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const NODE_20 =
  "data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.20.2' });";
const PROGRAM = `
  const [what, value] = process.argv.slice(2);
  if (what === 'exit') process.exit(Number(value));
  if (what === 'wait') {
    process.on('SIGTERM', () => process.exit(7));
    setTimeout(() => process.exit(99), 60_000);
  }
  if (what === 'hang') setTimeout(() => process.exit(99), 60_000);
  console.log(JSON.stringify({
    pid: process.pid, args: process.argv.slice(2), launcher: process.env.PARLEY_LAUNCHER,
  }));
`;

let folder: string;
let launcher: string;

before(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'parley-launcher-'));
  launcher = install('built');
  mkdirSync(path.join(folder, 'built/dist/parley-cli/cli'), { recursive: true });
  writeFileSync(path.join(folder, 'built/dist/parley-cli/cli/parley.js'), PROGRAM);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function install(name: string): string {
  const bin = path.join(folder, name, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(folder, name, 'package.json'), '{ "type": "module" }');
  copyFileSync(path.resolve(import.meta.dirname, '../bin/parley.js'), path.join(bin, 'parley.js'));
  return path.join(bin, 'parley.js');
}

interface Started {
  child: ChildProcess;
  /** Everything on standard output up to its first line's end. */
  line: Promise<string>;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>;
}

function start(file: string, args: string[], { old = false, env = {} } = {}): Started {
  const flags = old ? ['--import', NODE_20] : [];
  const child = spawn(process.execPath, [...flags, file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '', PARLEY_NODE: process.execPath, ...env },
    timeout: 30_000,
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const line = once(child.stdout.setEncoding('utf8'), 'data').then(([text]) => String(text));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, errors }));
  return { child, line, ended };
}

test('on a Node that is new enough the launcher is the program', async () => {
  const { child, line, ended } = start(launcher, ['serve', '--port', '0']);
  const { pid, args } = JSON.parse(await line);
  assert.equal(pid, child.pid);
  assert.deepEqual(args, ['serve', '--port', '0']);
  assert.deepEqual(await ended, { code: 0, signal: null, errors: '' });
});

test('on an older Node the program runs on the newer one, with its arguments', async () => {
  const { child, line, ended } = start(launcher, ['card', 'a b'], { old: true });
  const { pid, args, launcher: variable } = JSON.parse(await line);
  assert.notEqual(pid, child.pid);
  assert.deepEqual(args, ['card', 'a b']);
  assert.equal(variable, undefined);
  assert.deepEqual(await ended, { code: 0, signal: null, errors: '' });
});

test('on an older Node a newer one is found on the path', async () => {
  const env = { PARLEY_NODE: '', PATH: path.dirname(process.execPath) };
  const { ended } = start(launcher, ['exit', '0'], { old: true, env });
  assert.equal((await ended).code, 0);
});

test('the exit code is the program’s', async () => {
  const { ended } = start(launcher, ['exit', '3'], { old: true });
  assert.equal((await ended).code, 3);
});

test('a signal reaches the program, which decides how to end', async () => {
  const { child, line, ended } = start(launcher, ['wait'], { old: true });
  await line;
  child.kill('SIGTERM');
  assert.equal((await ended).code, 7);
});

test('a program that a signal ends, ends its launcher the same way', async () => {
  const { child, line, ended } = start(launcher, ['hang'], { old: true });
  await line;
  child.kill('SIGTERM');
  assert.equal((await ended).signal, 'SIGTERM');
});

test('an interrupted program gives 130', async () => {
  const { child, line, ended } = start(launcher, ['hang'], { old: true });
  await line;
  child.kill('SIGINT');
  assert.equal((await ended).code, 130);
});

test('a launcher that is killed takes the program with it', { timeout: 20_000 }, async () => {
  const { child, line, ended } = start(launcher, ['wait'], { old: true });
  await line;
  child.kill('SIGKILL');
  // The program holds the same output open: this comes only once both are gone.
  assert.equal((await ended).signal, 'SIGKILL');
});

test('without a Node that is new enough there is one line that says what to do', async () => {
  const { ended } = start(launcher, [], { old: true, env: { PARLEY_NODE: '' } });
  const { code, errors } = await ended;
  assert.equal(code, 2);
  assert.match(errors, /^parley: needs Node 24\.16 or newer and this is v20\.20\.2: [^\n]+\n$/);
});

test('without a build there is one line that says what to do', async () => {
  const { ended } = start(install('unbuilt'), []);
  assert.deepEqual(await ended, {
    code: 2,
    signal: null,
    errors: 'parley: not built yet: run npm run build first\n',
  });
});

test('the scripts of the repository say in one line that Node is too old', () => {
  const root = path.resolve(import.meta.dirname, '..');
  const check = (flags: string[]) =>
    spawnSync(process.execPath, [...flags, 'scripts/check-node.js'], {
      cwd: root,
      encoding: 'utf8',
    });
  assert.equal(check([]).status, 0);
  const { status, stderr } = check(['--import', NODE_20]);
  assert.equal(status, 2);
  assert.match(stderr, /^parley needs Node 24\.16 or newer and this is v20\.20\.2: .+\n$/);
});
