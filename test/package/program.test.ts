// parley-cli as its users get it: packed, installed with `npm install --global`, and run from there.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import {
  brokenLinks,
  contentsOf,
  emptyFolder,
  execute,
  findingsOf,
  install,
  MAX_FIRST_USE_MS,
  nodes,
  pack,
  root,
  whileRunning,
  type Packed,
} from './installed.ts';

const MAX_PACKAGES = 6;
const MAX_UNPACKED_BYTES = 15_000_000;

interface Manifest {
  version: string;
  bin: Record<string, string>;
}

const manifest: Manifest = JSON.parse(
  readFileSync(path.join(root, 'dist/parley-cli/package.json'), 'utf8'),
);

const [prefix, elsewhere] = [emptyFolder(), emptyFolder()];
const parley = path.join(prefix.path, 'bin/parley');
const modules = path.join(prefix.path, 'lib/node_modules');
const home = path.join(prefix.path, 'home');
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PARLEY_HOME: home,
  XDG_CONFIG_HOME: home,
  PARLEY_MODEL: 'offline',
};
let packed: Packed;
let installMs: number;

before(async () => {
  packed = await pack('parley-cli', prefix.path);
  installMs = await install(prefix.path, '--global', '--prefix', prefix.path, packed.archive);
});
after(() => {
  prefix[Symbol.dispose]();
  elsewhere[Symbol.dispose]();
});

function installed(file: string): string {
  return path.join(modules, 'parley-cli', file);
}

test('parley -p "list" runs after a global installation, with this Node and a newer one', async (t) => {
  writeFileSync(path.join(elsewhere.path, 'notes.txt'), 'a needle\n');
  const { found, missing } = await nodes();
  if (missing) t.diagnostic(`${missing}: only ${process.version} was tried`);
  for (const node of found) {
    const began = performance.now();
    const PATH = `${path.dirname(node)}${path.delimiter}${process.env['PATH']}`;
    const options = { cwd: elsewhere.path, env: { ...env, PATH } };
    const turn = execute(parley, ['-p', 'list'], options);
    // An open pipe could still bring text for the prompt.
    turn.child.stdin?.end();
    const { stdout } = await turn;
    assert.match(stdout, /notes\.txt/);
    const ms = installMs + performance.now() - began;
    const { stdout: version } = await execute(node, ['--version']);
    t.diagnostic(`installed and tried in ${Math.round(ms)} ms with ${version.trim()}`);
    assert.ok(ms < MAX_FIRST_USE_MS, `${Math.round(ms)} ms`);
  }
});

test('the program brings only what cannot be bundled', (t) => {
  const { packages, bytes } = contentsOf(modules);
  const sizes = [packed.unpackedBytes, bytes].map((each) => `${(each / 1e6).toFixed(1)} MB`);
  t.diagnostic(`${packages.join(', ')}: ${sizes.join(', with its packages ')}`);
  assert.ok(packages.length <= MAX_PACKAGES, packages.join(', '));
  assert.ok(packed.unpackedBytes < MAX_UNPACKED_BYTES, `${packed.unpackedBytes} bytes`);
});

test('the program does not bring a Node of its own', () => {
  assert.doesNotMatch(readFileSync(installed('package.json'), 'utf8'), /node-linux/);
});

test('the archive has the licences of bundled code', () => {
  const notices = readFileSync(installed('THIRD-PARTY-NOTICES.md'), 'utf8');
  for (const name of ['zod', 'ink', 'pg', 'preact'])
    assert.match(notices, new RegExp(`## ${name} `));
});

test('publint finds nothing to say', async () => {
  assert.deepEqual(await findingsOf(installed('.')), []);
});

test('the links of the README work on a package registry', () => {
  assert.deepEqual(brokenLinks(installed('README.md')), []);
});

test('parley --version tells the version', async () => {
  assert.deepEqual(Object.keys(manifest.bin), ['parley']);
  const { stdout } = await execute(parley, ['--version']);
  assert.ok(stdout.includes(manifest.version), stdout);
});

const schemas = { settings: ['policy', 'mcpServers'], gateway: ['providers', 'agents', 'keys'] };
for (const [subject, fields] of Object.entries(schemas)) {
  test(`the schema of ${subject}.json is there for editors`, () => {
    const schema = JSON.parse(readFileSync(installed(`${subject}.schema.json`), 'utf8'));
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    for (const field of fields) assert.ok(field in schema.properties, field);
  });
}

const AGENT = `
  import { llmAgent, RichResponse, tool } from 'parley-a2a/agent';
  import { z } from 'zod';
  const table = tool({
    name: 'get_table', description: 'Finds a table', input: z.object({}),
    run: (_, { answer, ask }) => answer
      ? new RichResponse('A table for ' + answer.value, { display: 'shown' })
      : ask({ text: 'For how many?' }),
  });
  export default llmAgent({ name: 'host', description: 'Seats guests', tools: [table] });`;

async function tryAgent(cwd: string): Promise<void> {
  writeFileSync(path.join(cwd, 'agent.ts'), AGENT);
  const args = ['serve', '--agent', 'agent.ts', '--port', '0', '--store', 'memory', '--json'];
  await whileRunning([parley, ...args], { cwd, env }, async (ready) => {
    const { url } = JSON.parse(ready) as { url: string };
    const asked = await execute(parley, ['send', url, 'a table, please', '--json']);
    const [, id = ''] = /"id":"([^"]+)"/.exec(asked.stdout) ?? [];
    assert.match(asked.stdout, /INPUT_REQUIRED[^]*For how many\?/);
    const done = await execute(parley, ['send', url, '4', '--task', id]);
    assert.match(done.stdout, /A table for 4/);
  });
}

test("the program serves an agent that is made with the consumer's own library", async () => {
  using project = emptyFolder('project');
  const { archive } = await pack('parley-a2a', project.path);
  await install(project.path, archive);
  await tryAgent(project.path);
});

test("the program serves an agent from a folder without a library, with the program's own", async () => {
  using folder = emptyFolder();
  writeFileSync(path.join(folder.path, 'package.json'), '{ "type": "module" }');
  await tryAgent(folder.path);
});

test('parley serve answers, and its tools find their native parts', async () => {
  const workspace = path.join(prefix.path, 'work');
  mkdirSync(workspace);
  writeFileSync(path.join(workspace, 'a.txt'), 'a needle\n');
  const flags = ['--port', '0', '--json', '--model', 'offline', '--approval', 'yolo'];
  const command = [parley, 'serve', '--workspace', workspace, ...flags];
  await whileRunning(command, { cwd: workspace, env }, async (line) => {
    const { url } = JSON.parse(line);
    const say = async (text: string) =>
      (await execute(parley, ['send', url, text], { env })).stdout;
    assert.match(await say('run test -t 1 && echo on a terminal'), /on a terminal/);
    assert.match(await say('search needle'), /a\.txt/);
  });
});
