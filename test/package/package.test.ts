// The built package as its users get it: packed, installed in an empty folder, imported, typed and run from there.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

interface Manifest {
  version: string;
  sideEffects?: boolean;
  bin?: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
  dependencies?: Record<string, string>;
}

const execute = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const dist = path.join(root, 'dist');
const manifest: Manifest = JSON.parse(readFileSync(path.join(dist, 'package.json'), 'utf8'));
const modules = Object.keys(manifest.exports)
  .filter((subpath) => !subpath.endsWith('.json'))
  .map((subpath) => path.posix.join('parley-a2a', subpath));

let consumer: string;
let packed: string[];

before(async () => {
  consumer = mkdtempSync(path.join(tmpdir(), 'parley-package-'));
  writeFileSync(
    path.join(consumer, 'package.json'),
    JSON.stringify({ name: 'consumer', private: true, type: 'module' }),
  );
  const pack = await npm('pack', dist, '--json', '--pack-destination', consumer);
  const [archive] = JSON.parse(pack);
  packed = archive.files.map((file: { path: string }) => file.path);
  await npm('install', '--prefer-offline', '--no-audit', '--no-fund', `./${archive.filename}`);
});
after(() => rmSync(consumer, { recursive: true, force: true }));

async function npm(...args: string[]): Promise<string> {
  const { stdout } = await execute('npm', args, { cwd: consumer });
  return stdout;
}

function installed(file: string): string {
  return path.join(consumer, 'node_modules', file);
}

test('the archive has the readable files and nothing of the workshop', () => {
  assert.ok(packed.includes('LICENSE'));
  assert.ok(packed.includes('package.json'));
  const start = /^page\/(?:(?:app|style)-\w{8}\.(?:js|css)(?:\.gz)?|icon\.svg|files\.json)$/;
  assert.equal(packed.filter((file) => start.test(file)).length, 6, 'the web page, built');
  const page = /^page\/(?:[a-z]+(?:-[a-z]+)?-\w{8}\.(?:js|css)(?:\.gz)?|icon\.svg|files\.json)$/;
  const strange = packed.filter(
    (file) => !page.test(file) && !/(\.js|\.d\.ts|^LICENSE|\.md|\.json|\.txt)$/.test(file),
  );
  assert.deepEqual(strange, []);
  assert.deepEqual(
    packed.filter((file) => /\.test\.|(^|\/)(test|src|node_modules)\//.test(file)),
    [],
  );
});

test('the package does not bring a Node of its own', () => {
  const all = JSON.stringify(
    JSON.parse(readFileSync(installed('parley-a2a/package.json'), 'utf8')),
  );
  assert.doesNotMatch(all, /node-linux|parley-source/);
});

test('a bundler may drop the modules that nothing imports from', () => {
  assert.equal(manifest.sideEffects, false);
});

test('publint finds nothing to say', async () => {
  const { messages, pkg } = await publint({ pkgDir: installed('parley-a2a'), strict: true });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

for (const name of modules) {
  test(`${name} can be imported`, async () => {
    const script = `console.log(Object.keys(await import('${name}')).length)`;
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', script], {
      cwd: consumer,
    });
    assert.ok(Number(stdout) > 0, `${name} exports nothing`);
  });
}

/** Of five tries: a busy machine makes some slow, and none fast. */
const TRIES = 5;
const MAX_IMPORT_MS = 100;

test('parley-a2a/agent loads no provider, and quickly', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const packages = new Set();
    registerHooks({ load(url, context, next) {
      packages.add(/node_modules\\/(?!parley-a2a)((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
      return next(url, context);
    } });
    const begun = performance.now();
    await import('parley-a2a/agent');
    const took = performance.now() - begun;
    console.log(JSON.stringify({ took, packages: [...packages].filter(Boolean) }));`;
  const times: number[] = [];
  for (let each = 0; each < TRIES; each++) {
    const args = ['--input-type=module', '-e', script];
    const { stdout } = await execute(process.execPath, args, { cwd: consumer });
    const { took, packages } = JSON.parse(stdout) as { took: number; packages: string[] };
    assert.deepEqual(packages, []);
    times.push(took);
  }
  assert.ok(Math.min(...times) < MAX_IMPORT_MS, `it took ${times.map(Math.round).join(', ')} ms`);
});

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

test("the program serves an agent that is made with the consumer's own framework", async () => {
  writeFileSync(path.join(consumer, 'agent.ts'), AGENT);
  const parley = installed('.bin/parley');
  const env = { ...process.env, PARLEY_MODEL: 'offline' };
  const args = ['serve', '--agent', 'agent.ts', '--port', '0', '--store', 'memory', '--json'];
  const server = spawn(parley, args, { cwd: consumer, env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [ready] = await once(server.stdout, 'data');
    const { url } = JSON.parse(String(ready)) as { url: string };
    const asked = await execute(parley, ['send', url, 'a table, please', '--json']);
    const [, id = ''] = /"id":"([^"]+)"/.exec(asked.stdout) ?? [];
    assert.match(asked.stdout, /INPUT_REQUIRED[^]*For how many\?/);
    const done = await execute(parley, ['send', url, '4', '--task', id]);
    assert.match(done.stdout, /A table for 4/);
  } finally {
    server.kill();
    await once(server, 'exit');
  }
});

test('the types of every module can be read by a strict consumer', async () => {
  const lines = modules.map((name, index) => `export * as m${index} from '${name}';`);
  writeFileSync(path.join(consumer, 'consumer.ts'), lines.join('\n'));
  writeFileSync(
    path.join(consumer, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
        module: 'nodenext',
        types: ['node'],
        strict: true,
        noEmit: true,
      },
      files: ['consumer.ts'],
    }),
  );
  // Node's types are the consumer's to install; these are the repository's.
  symlinkSync(path.join(root, 'node_modules/@types'), installed('@types'), 'dir');
  const tsc = path.join(root, 'node_modules/.bin/tsc');
  const { stdout } = await execute(tsc, ['--project', consumer]).catch((error) => error);
  assert.equal(stdout, '');
});

for (const command of Object.keys(manifest.bin ?? {})) {
  test(`${command} --version tells the version`, async () => {
    const { stdout } = await execute(installed(`.bin/${command}`), ['--version']);
    assert.ok(stdout.includes(manifest.version), stdout);
  });
}

const schemas = { settings: ['policy', 'mcpServers'], gateway: ['providers', 'agents', 'keys'] };
for (const [subject, fields] of Object.entries(schemas)) {
  test(`the schema of ${subject}.json is there for editors`, () => {
    const file = installed(`parley-a2a/${subject}.schema.json`);
    const schema = JSON.parse(readFileSync(file, 'utf8'));
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    for (const field of fields) assert.ok(field in schema.properties, field);
  });
}

test('parley serve answers, and its tools find their native parts', async () => {
  const home = path.join(consumer, 'home');
  const env = { ...process.env, PARLEY_HOME: home, XDG_CONFIG_HOME: home };
  const workspace = path.join(consumer, 'work');
  mkdirSync(workspace);
  writeFileSync(path.join(workspace, 'a.txt'), 'a needle\n');
  const flags = ['--port', '0', '--json', '--model', 'offline', '--approval', 'yolo'];
  const program = installed('.bin/parley');
  const child = spawn(program, ['serve', '--workspace', workspace, ...flags], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(child.stdout, 'data');
    const { url } = JSON.parse(String(line));
    const say = async (text: string) =>
      (await execute(program, ['send', url, text], { env })).stdout;
    assert.match(await say('run test -t 1 && echo on a terminal'), /on a terminal/);
    assert.match(await say('search needle'), /a\.txt/);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});
