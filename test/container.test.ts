// Dockerfile and compose.yaml. Containers cannot be built where the tests run, so this checks what they rely on.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import serveCommand from '../src/cli/commands/serve.ts';
import { createAgent, serve } from '../src/server.ts';

const root = path.resolve(import.meta.dirname, '..');
const dockerfile = readFileSync(path.join(root, 'Dockerfile'), 'utf8');
const compose = readFileSync(path.join(root, 'compose.yaml'), 'utf8');
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

async function checkHealth(port: number): Promise<number> {
  const [, command = '[]'] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  const [program, ...args] = JSON.parse(command.replace('41242', String(port))) as string[];
  assert.equal(program, 'node');
  const [code] = await once(spawn(process.execPath, args), 'exit');
  return Number(code);
}

test("the container's health check succeeds with a server, and fails without one", async () => {
  const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* (ctx) {
    yield ctx.text;
  });
  const server = await serve(agent, { logger: quiet }).listen(0);
  assert.equal(await checkHealth(server.port), 0);
  await server.close();
  assert.equal(await checkHealth(server.port), 1);
});

test('the container and the service do not run as root, and the root file system is read-only', () => {
  const user = dockerfile.lastIndexOf('\nUSER node\n');
  assert.ok(
    user > dockerfile.lastIndexOf('\nRUN ') && user < dockerfile.lastIndexOf('\nENTRYPOINT '),
  );
  for (const line of ['user: node', 'read_only: true', 'cap_drop: [ALL]']) {
    assert.match(compose, new RegExp(`^    ${line.replaceAll(/[[\]]/g, String.raw`\$&`)}$`, 'm'));
  }
});

test('the variables of the container are those of flags', () => {
  const names = [...`${dockerfile}\n${compose}`.matchAll(/\bPARLEY_([A-Z_]+)/g)].map(
    ([, name = '']) => name.toLowerCase().replaceAll('_', '-'),
  );
  const flags = Object.keys(serveCommand.flags ?? {});
  assert.ok(names.length > 3);
  assert.deepEqual(
    [...new Set(names)].filter((name) => name !== 'home' && !flags.includes(name)),
    [],
  );
});

test('compose.yaml and the workflows are YAML', () => {
  for (const file of [
    'compose.yaml',
    '.github/workflows/ci.yml',
    '.github/workflows/release.yml',
  ]) {
    const yaml = path.join(root, 'node_modules/.bin/yaml');
    const input = readFileSync(path.join(root, file));
    const { status, stderr } = spawnSync(yaml, ['valid'], { input, encoding: 'utf8' });
    assert.equal(status, 0, `${file}: ${stderr}`);
  }
});
