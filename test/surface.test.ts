// The package's public surface, read from the declaration files that the build emits for its entry points.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { llmAgent } from '../src/agent.ts';
import { serve, type A2AAgent } from '../src/server.ts';
import { apiReports } from '../scripts/api-report.ts';
import { importsOf } from '../scripts/imports.ts';
import { LIBRARY_DEPENDENCIES, packageName } from '../scripts/packages/manifest.ts';
import {
  commentOf,
  emittedSurface,
  entryPoints,
  exportsOf,
  mentionedBy,
  type Declaration,
} from '../scripts/surface.ts';

/** Entry points whose signatures also mention names of others, which their users import from there. */
const BUILDS_ON: Readonly<Record<string, readonly string[]>> = {
  './client/live': ['./client'],
  './store/sqlite': ['./server'],
  './store/postgres': ['./server'],
  './agent/sqlite': ['./agent'],
  './agent/postgres': ['./agent'],
  './bridge': ['./agent', './server', './client'],
  './gateway': ['./server'],
};

const root = path.join(import.meta.dirname, '..');
const emitted = mkdtempSync(path.join(root, '.dist-'));
after(() => rmSync(emitted, { recursive: true }));

const sources = entryPoints(root);
const surface = emittedSurface(root, emitted, sources);

function namesOf(entry: string): Map<string, Declaration> {
  const names = surface.get(entry);
  assert.ok(names, `package.json has no ${entry}`);
  return names;
}

/** The declarations that users of an entry point can import, members of exported namespaces included. */
function importable(entry: string): Set<Declaration> {
  const found = new Set<Declaration>();
  for (const each of [entry, ...(BUILDS_ON[entry] ?? [])]) {
    for (const declaration of namesOf(each).values()) {
      found.add(declaration);
      if (declaration.endsWith('.d.ts')) {
        for (const member of exportsOf(declaration).values()) found.add(member);
      }
    }
  }
  return found;
}

for (const entry of sources.keys()) {
  test(`${entry}: every name in a signature can be imported`, () => {
    const there = importable(entry);
    const missing: string[] = [];
    for (const [name, declaration] of namesOf(entry)) {
      if (!declaration.includes('#')) continue;
      for (const [mentioned, target] of mentionedBy(declaration)) {
        if (!there.has(target)) missing.push(`${name} mentions ${mentioned}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  test(`${entry}: every name has a doc comment`, () => {
    const without = [...namesOf(entry)]
      .filter(([, declaration]) => declaration.includes('#') && !commentOf(declaration))
      .map(([name]) => name);
    assert.deepEqual(without, []);
  });

  test(`${entry}: constants of the implementation are not exported`, () => {
    const published = new Set(['ERRORS', 'VERSIONS']);
    const constants = [...namesOf(entry).keys()].filter((name) => /^[A-Z][A-Z0-9_]+$/.test(name));
    assert.deepEqual(
      constants.filter((name) => !published.has(name)),
      [],
    );
  });
}

test('the types need only packages that are installed with the library', () => {
  const known = new Set([...LIBRARY_DEPENDENCIES, 'parley-a2a']);
  const files = new Set([...sources.values()].map((source) => path.join(emitted, source)));
  const others: string[] = [];
  // A set also visits the files that are added during the loop.
  for (const file of files) {
    const declarations = file.replace(/(?:\.d)?\.[jt]s$/, '.d.ts');
    for (const specifier of importsOf(declarations, readFileSync(declarations, 'utf8'))) {
      if (specifier.startsWith('.')) files.add(path.join(path.dirname(file), specifier));
      else if (!isBuiltin(specifier) && !known.has(packageName(specifier))) {
        others.push(`${path.relative(emitted, declarations)} imports ${specifier}`);
      }
    }
  }
  assert.deepEqual(others, []);
});

test('every entry point of package.json is checked here', () => {
  const manifest: { exports: object } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  );
  assert.deepEqual(
    [...sources.keys(), './package.json'].toSorted(),
    Object.keys(manifest.exports).toSorted(),
  );
});

test('a name that two entry points export means the same in both', () => {
  const meanings = new Map<string, Declaration>();
  const different = new Set<string>();
  for (const names of surface.values()) {
    for (const [name, declaration] of names) {
      if ((meanings.get(name) ?? declaration) !== declaration) different.add(name);
      meanings.set(name, declaration);
    }
  }
  assert.deepEqual([...different], []);
});

test('the API report in api/ describes these entry points', () => {
  for (const [file, report] of apiReports(surface)) {
    const place = path.join(root, 'api', file);
    const stored = existsSync(place) ? readFileSync(place, 'utf8') : '';
    assert.ok(
      stored === report,
      `api/${file} is out of date: run npm run api, look at the difference, and commit it`,
    );
  }
  const expected = new Set(apiReports(surface).keys());
  assert.deepEqual(new Set(readdirSync(path.join(root, 'api'))), expected);
});

test('serve says how to convert an agent of the framework', () => {
  const agent: unknown = llmAgent({ name: 'weather', model: 'offline' });
  assert.throws(() => serve(agent as A2AAgent), {
    name: 'TypeError',
    message: /"weather" is an agent of parley-a2a\/agent\. .*serve\(toA2AAgent\(agent\)\).*bridge/,
  });
  assert.throws(() => serve({} as A2AAgent), /serve\(\) needs an A2A agent: .*createAgent/);
});
