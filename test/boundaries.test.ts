// The layering as a test: reads every import in src/ and says which ones the design does not allow.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { importsOf } from '../scripts/imports.ts';

const MAX_LINES = 500;

interface Rule {
  /** Other folders of src/ that this one may import. */
  folders: string[];
  /** npm packages; `@scope/*` stands for a whole scope. */
  packages: string[];
  /** Node's own modules, without `node:`; `fs` includes `fs/promises`, `*` stands for all. */
  builtins: string[];
  /** More of Node for the files (named from src/) that match. */
  exceptions?: { files: RegExp; builtins: string[] }[];
  /** Files outside src/, named from the root. */
  outside?: string[];
}

/** One line per folder of src/, from the bottom up. `.` is src/index.ts. */
const RULES: Record<string, Rule> = {
  protocol: { folders: [], packages: ['zod'], builtins: [] },
  server: {
    folders: ['protocol'],
    packages: [],
    builtins: ['crypto', 'async_hooks', 'timers', 'util'],
  },
  transport: {
    folders: ['protocol', 'server'],
    packages: ['ws'],
    builtins: names(
      'http https http2 net tls dns url querystring stream zlib',
      'events buffer string_decoder crypto async_hooks timers',
    ),
  },
  // Runs in browsers too.
  client: {
    folders: ['protocol'],
    packages: [],
    builtins: [],
    exceptions: [{ files: /^client\/webhook[^/]*\.ts$/, builtins: ['*'] }],
  },
  store: {
    folders: ['protocol', 'server'],
    packages: ['pg'],
    builtins: ['sqlite', 'fs', 'path', 'crypto'],
  },
  // Knows nothing of A2A.
  agent: {
    folders: [],
    packages: ['zod', 'ai', '@ai-sdk/*', '@modelcontextprotocol/client'],
    builtins: ['crypto', 'async_hooks', 'timers', 'events', 'fs', 'path', 'sqlite'],
  },
  bridge: {
    folders: ['protocol', 'server', 'client', 'agent'],
    packages: ['zod'],
    builtins: ['crypto', 'async_hooks', 'timers'],
  },
  coder: {
    folders: ['protocol', 'server', 'transport', 'client', 'store', 'agent', 'bridge'],
    packages: names(
      'zod diff @modelcontextprotocol/client',
      '@lydell/node-pty @xterm/headless @vscode/ripgrep',
    ),
    builtins: ['*'],
  },
  acp: {
    folders: ['protocol', 'server', 'transport', 'client', 'coder'],
    packages: ['zod', 'ws', '@agentclientprotocol/sdk'],
    builtins: ['*'],
  },
  // A client like any other, never a friend of coder/.
  tui: {
    folders: ['protocol', 'client'],
    packages: ['ink', 'react', 'marked', 'diff'],
    builtins: ['crypto', 'events', 'fs', 'os', 'path', 'process', 'timers', 'tty', 'url', 'util'],
  },
  gateway: {
    folders: ['protocol', 'server', 'transport', 'client', 'store', 'agent', 'bridge'],
    packages: ['zod', 'jose', 'undici'],
    builtins: ['*'],
  },
  // A web page.
  console: { folders: ['protocol', 'client'], packages: ['preact'], builtins: [] },
  cli: {
    folders: names(
      '. protocol server transport client store agent bridge',
      'coder acp tui gateway console',
    ),
    packages: ['pino', 'zod'],
    builtins: ['*'],
    outside: ['package.json'],
  },
  '.': { folders: ['protocol', 'transport', 'client'], packages: [], builtins: [] },
};

function names(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}

/** Sources by name; names are from src/, with forward slashes. */
type Sources = ReadonlyMap<string, string>;

/** One sentence for each thing that the rules do not allow. */
function violations(sources: Sources): string[] {
  const graph = new Map<string, string[]>();
  const found: string[] = [];
  for (const [file, source] of sources) {
    found.push(...nameAndSize(file, source));
    if (!/\.tsx?$/.test(file)) continue;
    const imports = importsOf(file, source);
    for (const specifier of imports) {
      const problem = problemWith(file, specifier);
      if (problem) found.push(`src/${file} imports '${specifier}': ${problem}`);
    }
    graph.set(
      file,
      imports.filter(isRelative).map((specifier) => resolveFrom(file, specifier)),
    );
  }
  return [...found, ...cycles(graph)];
}

function nameAndSize(file: string, source: string): string[] {
  const found: string[] = [];
  const odd = file.split('/').find((part) => !/^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(part));
  if (odd) found.push(`src/${file} is not kebab-case: ${odd}`);
  const lines = source.split('\n').length - (source.endsWith('\n') ? 1 : 0);
  if (lines > MAX_LINES) found.push(`src/${file} has ${lines} lines, more than ${MAX_LINES}`);
  if (!RULES[folderOf(file)]) found.push(`src/${file} is in a folder that the table does not have`);
  return found;
}

function problemWith(file: string, specifier: string): string | undefined {
  const rule = RULES[folderOf(file)];
  // Tests may import what they like; their names, sizes and cycles count like any other's.
  if (!rule || isTest(file)) return undefined;

  if (isRelative(specifier)) {
    const target = resolveFrom(file, specifier);
    if (isTest(target)) return 'a source file does not import a test';
    if (target.startsWith('../')) {
      return rule.outside?.includes(target.slice(3)) ? undefined : 'it lies outside src';
    }
    const [from, to] = [folderOf(file), folderOf(target)];
    if (from === to || rule.folders.includes(to)) return undefined;
    return `${describe(from)} may import ${list(rule.folders)} of our folders, not ${describe(to)}`;
  }

  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return "write Node's own modules with node:";
    const extra = rule.exceptions?.filter((each) => each.files.test(file)) ?? [];
    const allowed = [...rule.builtins, ...extra.flatMap((each) => each.builtins)];
    const [name = ''] = specifier.slice('node:'.length).split('/');
    if (allowed.includes('*') || allowed.includes(name)) return undefined;
    return `${describe(folderOf(file))} may use ${list(allowed)} of Node`;
  }

  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  if (rule.packages.some((each) => each === name || each === `${parts[0]}/*`)) return undefined;
  return `${describe(folderOf(file))} may use ${list(rule.packages)} of npm`;
}

/** One sentence for each file that closes a cycle, with the way round. */
function cycles(graph: ReadonlyMap<string, string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string) => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      const round = [...trail.slice(start), file].map((each) => `src/${each}`);
      found.push(`these files import each other in a cycle: ${round.join(' → ')}`);
      return;
    }
    if (done.has(file)) return;
    trail.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    trail.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

function folderOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '.') : '.';
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file);
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.');
}

function resolveFrom(file: string, specifier: string): string {
  return path.posix.join(path.posix.dirname(file), specifier);
}

function describe(folder: string): string {
  return folder === '.' ? 'src/index.ts' : `${folder}/`;
}

function list(names: string[]): string {
  return names.length > 0 ? names.join(', ') : 'nothing';
}

test('src keeps to the directions, packages, sizes and names of the design', () => {
  const root = path.resolve(import.meta.dirname, '../src');
  const files = globSync('**/*.*', { cwd: root }).map((file) => file.replaceAll(path.sep, '/'));
  const sources = new Map(
    files.toSorted().map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
  );
  assert.equal(violations(sources).join('\n'), '');
});

// The checker itself, on sources that do not exist. A rule that catches nothing would pass unseen above.
const planted: { name: string; sources: Record<string, string>; says: RegExp | null }[] = [
  {
    name: 'an import that points up',
    sources: { 'protocol/task.ts': "import { run } from '../server/run.ts';" },
    says: /src\/protocol\/task\.ts imports '\.\.\/server\/run\.ts': protocol\/ may import nothing/,
  },
  {
    name: 'a type import that points up',
    sources: { 'server/run.ts': "import type { Adapter } from '../transport/node.ts';" },
    says: /server\/run\.ts imports '\.\.\/transport\/node\.ts'/,
  },
  {
    name: 'an import type that points up',
    sources: { 'agent/agent.ts': "export type T = import('../protocol/task.ts').Task;" },
    says: /agent\/agent\.ts imports '\.\.\/protocol\/task\.ts'/,
  },
  {
    name: 'a re-export that points up',
    sources: { 'client/http.ts': "export * from '../server/handler.ts';" },
    says: /client\/http\.ts imports '\.\.\/server\/handler\.ts'/,
  },
  {
    name: 'a lazy import that points up',
    sources: { 'tui/app.tsx': "export const load = () => import('../coder/session.ts');" },
    says: /tui\/app\.tsx imports '\.\.\/coder\/session\.ts'/,
  },
  {
    name: 'a package outside its folder',
    sources: { 'server/handler.ts': "import { z } from 'zod';" },
    says: /server\/handler\.ts imports 'zod': server\/ may use nothing of npm/,
  },
  {
    name: 'our own package by its name',
    sources: { 'gateway/keys.ts': "import { serve } from 'parley-a2a/server';" },
    says: /gateway\/keys\.ts imports 'parley-a2a\/server'/,
  },
  {
    name: 'a module of Node outside its folder',
    sources: { 'server/handler.ts': "import http from 'node:http';" },
    says: /server\/handler\.ts imports 'node:http': server\/ may use crypto/,
  },
  {
    name: 'a module of Node where browsers go',
    sources: { 'client/http.ts': "import { once } from 'node:events';" },
    says: /client\/http\.ts imports 'node:events'/,
  },
  {
    name: 'a module of Node without node:',
    sources: { 'store/sqlite.ts': "import fs from 'fs';" },
    says: /store\/sqlite\.ts imports 'fs': write Node's own modules with node:/,
  },
  {
    name: 'an import from outside src',
    sources: { 'server/run.ts': "import { clock } from '../../test/support/clock.ts';" },
    says: /server\/run\.ts imports '.*clock\.ts': it lies outside src/,
  },
  {
    name: 'an import of a test',
    sources: { 'server/run.ts': "import { clock } from './handler.test.ts';" },
    says: /a source file does not import a test/,
  },
  {
    name: 'a cycle',
    sources: {
      'server/a.ts': "import './b.ts';",
      'server/b.ts': "import './c.ts';",
      'server/c.ts': "import type { A } from './a.ts';",
    },
    says: /cycle: src\/server\/a\.ts → src\/server\/b\.ts → src\/server\/c\.ts → src\/server\/a\.ts/,
  },
  {
    name: 'a file that is too long',
    sources: { 'server/run.ts': '//\n'.repeat(MAX_LINES + 1) },
    says: /server\/run\.ts has 501 lines, more than 500/,
  },
  {
    name: 'a name that is not kebab-case',
    sources: { 'server/taskStore.ts': '' },
    says: /server\/taskStore\.ts is not kebab-case/,
  },
  {
    name: 'a folder that is not in the table',
    sources: { 'utils/misc.ts': '' },
    says: /utils\/misc\.ts is in a folder that the table does not have/,
  },
  {
    name: 'nothing in sources that keep to the rules',
    sources: {
      'index.ts': "export * from './protocol/index.ts';",
      'protocol/index.ts': "import { z } from 'zod'; export * from './wire/v1.ts';",
      'protocol/wire/v1.ts': "// import '../../server/run.ts'",
      'server/run.ts':
        "import { randomUUID } from 'node:crypto'; import { setTimeout } from 'node:timers/promises';",
      'server/run.test.ts': "import '../transport/index.ts'; import http from 'node:http';",
      'server/full.ts': '//\n'.repeat(MAX_LINES),
      'client/webhook-server.ts': "import http from 'node:http';",
      'agent/models/google.ts': "import { google } from '@ai-sdk/google';",
      'cli/main.ts': "import manifest from '../../package.json' with { type: 'json' };",
    },
    says: null,
  },
];

for (const { name, sources, says } of planted) {
  test(`the checker finds ${name}`, () => {
    const found = violations(new Map(Object.entries(sources)));
    if (says === null) {
      assert.deepEqual(found, []);
    } else {
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', says);
    }
  });
}
