// parley-a2a as its users get it: packed, installed in an empty project, imported, typed, bundled and run from there.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
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

const MAX_PACKAGES = 4;
const MAX_UNPACKED_BYTES = 7_000_000;

interface Manifest {
  sideEffects?: boolean;
  bin?: unknown;
  exports: Record<string, string | Record<string, string>>;
  dependencies?: Record<string, string>;
}

const manifest: Manifest = JSON.parse(
  readFileSync(path.join(root, 'dist/parley-a2a/package.json'), 'utf8'),
);
const modules = Object.keys(manifest.exports)
  .filter((subpath) => !subpath.endsWith('.json'))
  .map((subpath) => path.posix.join('parley-a2a', subpath));

const project = emptyFolder('project');
const consumer = project.path;
let packed: Packed;
let installMs: number;

before(async () => {
  packed = await pack('parley-a2a', consumer);
  installMs = await install(consumer, packed.archive);
});
after(() => project[Symbol.dispose]());

function installed(file: string): string {
  return path.join(consumer, 'node_modules', file);
}

/** Runs a script in the consumer's project, and returns what it prints. */
async function evaluate(script: string, node = process.execPath): Promise<string> {
  const args = ['--input-type=module', '-e', script];
  return (await execute(node, args, { cwd: consumer })).stdout;
}

test('the archive has the readable files and nothing of the workshop', () => {
  for (const file of ['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES.md', 'package.json']) {
    assert.ok(packed.files.includes(file), file);
  }
  const start = /^page\/(?:(?:app|style)-\w{8}\.(?:js|css)(?:\.gz)?|icon\.svg|files\.json)$/;
  assert.equal(packed.files.filter((file) => start.test(file)).length, 6, 'the web page, built');
  const page = /^page\/(?:[a-z]+(?:-[a-z]+)?-\w{8}\.(?:js|css)(?:\.gz)?|icon\.svg|files\.json)$/;
  const strange = packed.files.filter(
    (file) => !page.test(file) && !/(\.js|\.d\.ts|^LICENSE|\.md|\.json|\.txt)$/.test(file),
  );
  assert.deepEqual(strange, []);
  assert.deepEqual(
    packed.files.filter((file) => /\.test\.|(^|\/)(test|src|node_modules)\//.test(file)),
    [],
  );
});

test(`the library brings at most ${MAX_PACKAGES} packages`, (t) => {
  const { packages, bytes } = contentsOf(path.join(consumer, 'node_modules'));
  const sizes = [packed.unpackedBytes, bytes].map((each) => `${(each / 1e6).toFixed(1)} MB`);
  t.diagnostic(`${packages.join(', ')}: ${sizes.join(', with its packages ')}`);
  assert.ok(packages.length <= MAX_PACKAGES, packages.join(', '));
  assert.deepEqual(Object.keys(manifest.dependencies ?? {}), ['ws', 'zod']);
  assert.ok(packed.unpackedBytes < MAX_UNPACKED_BYTES, `${packed.unpackedBytes} bytes`);
});

test('the library brings neither a program nor a Node of its own', () => {
  assert.equal(manifest.bin, undefined);
  const all = JSON.stringify(
    JSON.parse(readFileSync(installed('parley-a2a/package.json'), 'utf8')),
  );
  assert.doesNotMatch(all, /node-linux|parley-source/);
});

test('a bundler may drop the modules that nothing imports from', () => {
  assert.equal(manifest.sideEffects, false);
});

test('publint finds nothing to say', async () => {
  assert.deepEqual(await findingsOf(installed('parley-a2a')), []);
});

test('the links of the README work on a package registry', () => {
  assert.deepEqual(brokenLinks(installed('parley-a2a/README.md')), []);
});

/** What a module needs is loaded with it, because it is about nothing else. */
const NEEDS: Readonly<Record<string, RegExp>> = {
  'parley-a2a/grpc':
    /gRPC needs the package @bufbuild\/protobuf, which is not installed: run npm install/,
};

for (const name of modules) {
  const needs = NEEDS[name];
  if (needs) {
    test(`${name} says which package it needs`, async () => {
      await assert.rejects(evaluate(`await import('${name}')`), needs);
    });
    continue;
  }
  test(`${name} can be imported without optional packages`, async () => {
    const count = await evaluate(`console.log(Object.keys(await import('${name}')).length)`);
    assert.ok(Number(count) > 0, `${name} exports nothing`);
  });
}

test('what needs a package that is not installed says which one', async () => {
  const script = `
    const { mcpToolset, model } = await import('parley-a2a/agent');
    const { postgresStore } = await import('parley-a2a/store/postgres');
    const signal = AbortSignal.timeout(10_000);
    const request = { messages: [{ role: 'user', parts: [{ text: 'hello' }] }] };
    const ask = (name) => async () => {
      for await (const part of model(name, { apiKey: 'k' }).generate(request, signal)) void part;
    };
    const tries = {
      google: ask('google:gemini-3-flash'),
      anthropic: ask('anthropic:claude-sonnet-5-5'),
      openai: ask('openai:gpt-6.1-sol'),
      pg: () => postgresStore('postgres://localhost/none'),
      mcp: () => mcpToolset({ name: 'files', command: 'true' }).prompts(signal),
    };
    const said = {};
    for (const [name, attempt] of Object.entries(tries)) {
      try { await attempt(); said[name] = 'nothing'; } catch (error) { said[name] = error.message; }
    }
    console.log(JSON.stringify(said));`;
  process.env['GEMINI_API_KEY'] = process.env['ANTHROPIC_API_KEY'] = 'k';
  process.env['OPENAI_API_KEY'] = 'k';
  const said = JSON.parse(await evaluate(script));
  const needed = {
    google: '@ai-sdk/google',
    anthropic: '@ai-sdk/anthropic',
    openai: '@ai-sdk/openai',
    pg: 'pg',
    mcp: '@modelcontextprotocol/client',
  };
  for (const [name, wanted] of Object.entries(needed)) {
    assert.ok(String(said[name]).includes(`run npm install ${wanted}`), `${name}: ${said[name]}`);
  }
});

/** Of five tries: a busy machine makes some slow, and none fast. */
const TRIES = 5;
/** Processor time, so that other programs do not count. */
const MAX_IMPORT_MS = 150;

test('parley-a2a/agent loads no provider, and quickly', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const packages = new Set();
    registerHooks({ load(url, context, next) {
      packages.add(/node_modules\\/(?!parley-a2a)((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
      return next(url, context);
    } });
    const begun = process.cpuUsage();
    await import('parley-a2a/agent');
    const { user, system } = process.cpuUsage(begun);
    const took = (user + system) / 1000;
    console.log(JSON.stringify({ took, packages: [...packages].filter(Boolean) }));`;
  const times: number[] = [];
  for (let each = 0; each < TRIES; each++) {
    const { took, packages } = JSON.parse(await evaluate(script)) as {
      took: number;
      packages: string[];
    };
    assert.deepEqual(packages, []);
    times.push(took);
  }
  assert.ok(Math.min(...times) < MAX_IMPORT_MS, `it took ${times.map(Math.round).join(', ')} ms`);
});

test('the types of every module can be read by a strict consumer without optional packages', async () => {
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
  mkdirSync(installed('@types'));
  symlinkSync(path.join(root, 'node_modules/@types/node'), installed('@types/node'), 'dir');
  const tsc = path.join(root, 'node_modules/.bin/tsc');
  const { stdout } = await execute(tsc, ['--project', consumer]).catch((error) => error);
  assert.equal(stdout, '');
});

test('the client can be bundled for browsers, without a module of Node', async (t) => {
  const { metafile } = await build({
    stdin: {
      contents: `export { connect } from 'parley-a2a/client'; export * from 'parley-a2a/client/live';`,
      resolveDir: consumer,
    },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  assert.deepEqual(output?.imports, []);
  t.diagnostic(`${Math.round((output?.bytes ?? 0) / 1000)} KB, minified`);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("the README's server and client run, with this Node and a newer one", async (t) => {
  const readme = readFileSync(installed('parley-a2a/README.md'), 'utf8');
  const [agent = '', client = ''] = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(
    ([, code]) => code ?? '',
  );
  const port = await freePort();
  // The only additions: another port, and a line that says that the server is ready.
  const ready = "\nconsole.log('ready');";
  writeFileSync(path.join(consumer, 'agent.ts'), agent.replace('4000', String(port)) + ready);
  writeFileSync(path.join(consumer, 'client.ts'), client.replace('4000', String(port)));
  const { found, missing } = await nodes();
  if (missing) t.diagnostic(`${missing}: only ${process.version} was tried`);
  for (const node of found) {
    const began = performance.now();
    await whileRunning([node, 'agent.ts'], { cwd: consumer }, async () => {
      const { stdout } = await execute(node, ['client.ts'], { cwd: consumer });
      assert.equal(stdout.trim(), 'hello there');
    });
    const ms = installMs + performance.now() - began;
    const { stdout: version } = await execute(node, ['--version']);
    t.diagnostic(`installed and tried in ${Math.round(ms)} ms with ${version.trim()}`);
    assert.ok(ms < MAX_FIRST_USE_MS, `${Math.round(ms)} ms`);
  }
});
