// The layering as a test: reads every import and export in src/ and names each one that the design does not allow.
//
// A room is a top-level folder of src/. Other rooms enter it through an index.ts, in the room itself or in one of its
// subfolders. The files directly in src/ are the package's public entry points, and serve.ts with its options.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { exportedNames, importsOf } from '../scripts/imports.ts';

const MAX_LINES = 500;
/** The public entry points at the top of src/ export the rooms' names again: that is their purpose. */
const TOP = '.';

interface Rule {
  /** Other rooms that this folder may import. A subfolder with a line of its own (`live/client`) is named by itself. */
  folders: string[];
  /** npm packages; `@scope/*` stands for a whole scope. */
  packages: string[];
  /** Node's own modules, without `node:`; `fs` includes `fs/promises`, `*` stands for all. */
  builtins: string[];
  /** Files outside src/, named from the root. */
  outside?: string[];
}

/** One line per folder, from the bottom up. A file follows the longest folder that has a line. `.` is src/ itself. */
const RULES: Record<string, Rule> = {
  // No A2A; what runs in browsers too.
  base: { folders: [], packages: ['zod'], builtins: [] },
  'base/files': { folders: ['base/system'], packages: [], builtins: ['crypto', 'fs', 'path'] },
  'base/system': { folders: [], packages: [], builtins: ['os', 'path'] },
  'base/jsonc': { folders: [], packages: ['zod', 'jsonc-parser'], builtins: [] },
  // The client uses it, so it imports only types of Node's modules.
  'base/metrics': { folders: [], packages: [], builtins: ['perf_hooks'] },
  'base/net': { folders: ['base'], packages: [], builtins: ['http', 'net'] },
  'base/signing': { folders: [], packages: [], builtins: ['crypto', 'fs'] },
  'base/postgres': { folders: [], packages: ['pg'], builtins: [] },
  'base/tracing': {
    folders: [],
    packages: ['@opentelemetry/api'],
    builtins: ['async_hooks', 'crypto', 'diagnostics_channel', 'timers'],
  },
  'base/tls': { folders: ['base/files'], packages: [], builtins: ['crypto', 'net'] },
  'base/sqlite': { folders: [], packages: [], builtins: ['fs', 'path', 'sqlite'] },
  protocol: { folders: ['base'], packages: ['zod'], builtins: [] },
  tasks: {
    folders: ['base', 'base/tracing', 'protocol'],
    packages: [],
    builtins: ['crypto', 'timers', 'util'],
  },
  http: {
    folders: ['base', 'base/net', 'base/signing', 'protocol', 'tasks'],
    packages: ['ws'],
    builtins: ['crypto', 'http', 'http2', 'https', 'net', 'stream', 'timers', 'tls'],
  },
  // Protobuf messages, for the server and the client.
  'grpc/codec': { folders: ['base', 'protocol'], packages: ['@bufbuild/protobuf'], builtins: [] },
  grpc: {
    folders: ['base', 'protocol', 'tasks', 'http', 'grpc/codec'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect'],
    builtins: ['http2'],
  },
  // Runs in browsers too.
  client: { folders: ['base', 'base/net', 'protocol', 'client/grpc'], packages: [], builtins: [] },
  // Only for Node. Loaded when it is used, and replaced by an empty module for browsers (package.json, "browser").
  'client/grpc': {
    folders: ['base/net', 'protocol', 'grpc/codec', 'client'],
    packages: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'],
    builtins: [],
  },
  store: {
    folders: names('base base/files base/metrics base/postgres base/sqlite protocol tasks'),
    packages: [],
    builtins: ['crypto', 'fs', 'sqlite'],
  },
  // Knows nothing of A2A.
  agent: {
    folders: ['base', 'base/postgres', 'base/sqlite', 'base/tracing'],
    packages: ['zod', '@ai-sdk/*', '@modelcontextprotocol/client'],
    builtins: ['async_hooks', 'crypto', 'fs', 'sqlite', 'timers', 'util'],
  },
  bridge: {
    folders: ['base', 'base/tracing', 'protocol', 'tasks', 'client', 'agent'],
    packages: ['zod'],
    builtins: ['crypto'],
  },
  // Runs in browsers too.
  'live/client': { folders: ['base', 'protocol', 'client'], packages: ['zod'], builtins: [] },
  coder: {
    folders: names(
      '. base base/files base/jsonc base/net base/sqlite base/system protocol tasks http agent bridge live/client',
    ),
    packages: names('zod diff htmlparser2 jsonc-parser @lydell/node-pty @vscode/ripgrep'),
    builtins: ['*'],
  },
  live: {
    folders: names('. base protocol tasks http agent bridge coder'),
    packages: [],
    builtins: ['crypto', 'timers'],
  },
  acp: {
    folders: names('base protocol tasks http live/client'),
    packages: ['@agentclientprotocol/sdk'],
    builtins: ['path', 'stream', 'url'],
  },
  // What the terminal UI and the page show of a session. Runs in browsers too.
  display: {
    folders: ['base', 'protocol', 'live/client'],
    packages: ['marked', 'diff'],
    builtins: [],
  },
  // A client like any other, never a friend of coder/.
  tui: {
    folders: ['base', 'base/system', 'protocol', 'live/client', 'display'],
    packages: ['ink', 'react', 'marked', 'uqr'],
    builtins: ['util'],
  },
  // The server of the web page.
  console: { folders: ['base', 'http'], packages: [], builtins: ['fs', 'http', 'path'] },
  // Sends the requests of the inspector's page to the agent that the person named.
  'console/inspector': {
    folders: ['base', 'base/net', 'protocol', 'http', 'client'],
    packages: ['zod'],
    builtins: [],
  },
  // The page, which runs only in browsers. Only scripts/page.ts reads it.
  'console/page': {
    folders: ['base', 'protocol', 'client', 'live/client', 'display'],
    packages: ['preact', '@preact/signals', 'marked', 'uplot', 'zod'],
    builtins: [],
  },
  gateway: {
    folders: names(
      '. base base/files base/jsonc base/metrics base/net base/postgres base/signing base/sqlite',
      'base/system base/tracing protocol tasks http client store agent bridge console',
    ),
    packages: ['zod', 'jose', 'undici'],
    builtins: ['*'],
  },
  cli: {
    folders: names(
      '. base base/files base/metrics base/net base/postgres base/signing base/system base/tls',
      'base/tracing',
      'protocol tasks http client store agent bridge',
      'coder live live/client acp display tui console console/inspector gateway',
    ),
    packages: ['pino'],
    builtins: ['*'],
    outside: ['package.json'],
  },
  [TOP]: {
    folders: names(
      'base base/signing base/tracing protocol tasks http grpc client store agent bridge gateway',
      'live/client console',
    ),
    packages: [],
    builtins: ['http'],
  },
};

function names(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}

/** Sources by name; names are from src/, with forward slashes. */
type Sources = ReadonlyMap<string, string>;

/** One sentence for each thing that the rules do not allow. */
function violations(sources: Sources): string[] {
  const graph = new Map<string, string[]>();
  const owners = new Map<string, Set<string>>();
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
    if (isTest(file) || roomOf(file) === TOP) continue;
    for (const name of exportedNames(file, source)) {
      owners.set(name, (owners.get(name) ?? new Set()).add(roomOf(file)));
    }
  }
  for (const [name, rooms] of owners) {
    if (rooms.size < 2) continue;
    found.push(`${[...rooms].map(describe).join(' and ')} both export ${name}`);
  }
  return [...found, ...fileCycles(graph), ...folderCycles(graph)];
}

function nameAndSize(file: string, source: string): string[] {
  const found: string[] = [];
  const odd = file.split('/').find((part) => !/^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(part));
  if (odd) found.push(`src/${file} is not kebab-case: ${odd}`);
  const lines = source.split('\n').length - (source.endsWith('\n') ? 1 : 0);
  if (lines > MAX_LINES) found.push(`src/${file} has ${lines} lines, more than ${MAX_LINES}`);
  if (!ruleOf(file)) found.push(`src/${file} is in a folder that the table does not have`);
  return found;
}

/** The line of the table that holds for a file. */
function ruleOf(file: string): Rule | undefined {
  return RULES[lineOf(file)];
}

/** The longest folder of a file that has a line in the table, or its room. */
function lineOf(file: string): string {
  for (let at = folderOf(file); at !== TOP; at = path.posix.dirname(at)) {
    if (RULES[at]) return at;
  }
  return roomOf(file);
}

function problemWith(file: string, specifier: string): string | undefined {
  const rule = ruleOf(file);
  // Tests may import anything; their names, sizes and cycles are checked like those of any other file.
  if (!rule || isTest(file)) return undefined;

  if (isRelative(specifier)) {
    const target = resolveFrom(file, specifier);
    if (isTest(target)) return 'a source file does not import a test';
    if (target.startsWith('../')) {
      return rule.outside?.includes(target.slice(3)) ? undefined : 'it lies outside src';
    }
    const [from, to] = [roomOf(file), roomOf(target)];
    if (from === to) return undefined;
    if (!rule.folders.includes(lineOf(target)))
      return `${describe(folderOf(file))} may import ${list(rule.folders)}`;
    if (to === TOP || path.posix.basename(target) === 'index.ts') return undefined;
    return 'another room is imported through an index.ts';
  }

  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return "write Node's own modules with node:";
    const [name = ''] = specifier.slice('node:'.length).split('/');
    if (rule.builtins.includes('*') || rule.builtins.includes(name)) return undefined;
    return `${describe(folderOf(file))} may use ${list(rule.builtins)} of Node`;
  }

  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  if (rule.packages.some((each) => each === name || each === `${parts[0]}/*`)) return undefined;
  return `${describe(folderOf(file))} may use ${list(rule.packages)} of npm`;
}

function fileCycles(graph: ReadonlyMap<string, string[]>): string[] {
  return cycles(graph).map((round) => `these files import each other in a cycle: ${round}`);
}

/**
 * Cycles between folders. An index.ts is the door of its folder with all subfolders, so what it exports again is no
 * dependency of the folder, and an import through it is one of the folder that it stands in.
 */
function folderCycles(graph: ReadonlyMap<string, string[]>): string[] {
  const folders = new Map<string, string[]>();
  for (const [file, targets] of graph) {
    if (isTest(file) || path.posix.basename(file) === 'index.ts' || roomOf(file) === TOP) continue;
    const from = folderOf(file);
    const others = targets.filter((to) => roomOf(to) !== TOP && !to.startsWith('..')).map(folderOf);
    folders.set(from, [...(folders.get(from) ?? []), ...others.filter((to) => to !== from)]);
  }
  return cycles(folders).map((round) => `these folders import each other in a cycle: ${round}`);
}

/** The way round of each cycle. */
function cycles(graph: ReadonlyMap<string, string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string) => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      const round = [...trail.slice(start), file].map((each) => `src/${each}`);
      found.push(round.join(' → '));
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

function roomOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? TOP) : TOP;
}

function folderOf(file: string): string {
  return path.posix.dirname(file);
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
  return folder === TOP ? 'src/' : `${folder}/`;
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
    sources: { 'protocol/task.ts': "import { run } from '../tasks/run.ts';" },
    says: /src\/protocol\/task\.ts imports '\.\.\/tasks\/run\.ts': protocol\/ may import base$/,
  },
  {
    name: 'a type import that points up',
    sources: { 'tasks/run.ts': "import type { Adapter } from '../http/node.ts';" },
    says: /tasks\/run\.ts imports '\.\.\/http\/node\.ts'/,
  },
  {
    name: 'an import type that points up',
    sources: { 'agent/agent.ts': "export type T = import('../protocol/task.ts').Task;" },
    says: /agent\/agent\.ts imports '\.\.\/protocol\/task\.ts'/,
  },
  {
    name: 'a re-export that points up',
    sources: { 'client/http.ts': "export * from '../tasks/handler.ts';" },
    says: /client\/http\.ts imports '\.\.\/tasks\/handler\.ts'/,
  },
  {
    name: 'a lazy import that points up',
    sources: { 'tui/app.tsx': "export const load = () => import('../coder/session.ts');" },
    says: /tui\/app\.tsx imports '\.\.\/coder\/session\.ts'/,
  },
  {
    name: 'a package outside its folder',
    sources: { 'tasks/handler.ts': "import { z } from 'zod';" },
    says: /tasks\/handler\.ts imports 'zod': tasks\/ may use nothing of npm/,
  },
  {
    name: 'our own package by its name',
    sources: { 'gateway/keys.ts': "import { serve } from 'parley-a2a/server';" },
    says: /gateway\/keys\.ts imports 'parley-a2a\/server'/,
  },
  {
    name: 'a module of Node outside its folder',
    sources: { 'tasks/handler.ts': "import http from 'node:http';" },
    says: /tasks\/handler\.ts imports 'node:http': tasks\/ may use crypto/,
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
    sources: { 'tasks/run.ts': "import { clock } from '../../test/support/clock.ts';" },
    says: /tasks\/run\.ts imports '.*clock\.ts': it lies outside src/,
  },
  {
    name: 'an import of a test',
    sources: { 'tasks/run.ts': "import { clock } from './handler.test.ts';" },
    says: /a source file does not import a test/,
  },
  {
    name: 'a cycle',
    sources: {
      'tasks/a.ts': "import './b.ts';",
      'tasks/b.ts': "import './c.ts';",
      'tasks/c.ts': "import type { A } from './a.ts';",
    },
    says: /cycle: src\/tasks\/a\.ts → src\/tasks\/b\.ts → src\/tasks\/c\.ts → src\/tasks\/a\.ts/,
  },
  {
    name: 'an import past the index of another room',
    sources: { 'tasks/run.ts': "import { Task } from '../protocol/task.ts';" },
    says: /tasks\/run\.ts imports '.*task\.ts': another room is imported through an index\.ts/,
  },
  {
    name: 'an import of a room of which only a subfolder is allowed',
    sources: { 'tui/app.tsx': "import { openLive } from '../live/index.ts';" },
    says: /tui\/app\.tsx imports '\.\.\/live\/index\.ts': tui\/ may import base/,
  },
  {
    name: 'a name that two rooms export',
    sources: { 'tasks/run.ts': 'export const grip = 1;', 'http/run.ts': 'export type grip = 1;' },
    says: /tasks\/ and http\/ both export grip/,
  },
  {
    name: 'a cycle between folders',
    sources: {
      'gateway/keys/a.ts': "import '../models/b.ts';",
      'gateway/models/b.ts': '',
      'gateway/models/c.ts': "import '../keys/d.ts';",
      'gateway/keys/d.ts': '',
    },
    says: /these folders import each other in a cycle: src\/gateway\/keys → src\/gateway\/models → /,
  },
  {
    name: 'a file that is too long',
    sources: { 'tasks/run.ts': '//\n'.repeat(MAX_LINES + 1) },
    says: /tasks\/run\.ts has 501 lines, more than 500/,
  },
  {
    name: 'a name that is not kebab-case',
    sources: { 'tasks/taskStore.ts': '' },
    says: /tasks\/taskStore\.ts is not kebab-case/,
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
      'protocol/wire/v1.ts': "// import '../../tasks/run.ts'",
      'tasks/run.ts':
        "import { randomUUID } from 'node:crypto'; import { setTimeout } from 'node:timers/promises';",
      'tasks/run.test.ts': "import '../http/index.ts'; import http from 'node:http';",
      'tasks/full.ts': '//\n'.repeat(MAX_LINES),
      'client/http.ts': "import { Task } from '../protocol/index.ts';",
      'live/client/join.ts': "import { connect } from '../../client/index.ts';",
      'tui/app.tsx': "import { joinLive } from '../live/client/index.ts';",
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
