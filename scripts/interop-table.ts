/**
 * Runs the tests with other programs, and writes which operations of each program passed: to the tables of
 * docs/interop.md and, for the clients of models, to the table of docs/gateway-clients.md.
 *
 *   npm run interop                  # runs all of them; installs the large programs into a cache folder first
 *   npm run interop -- --no-clients  # keeps the rows of the large programs as they are
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Result, Tried } from '../test/support/interop-table.ts';

const PAGES: Record<Tried['protocol'], string> = {
  A2A: 'docs/interop.md',
  ACP: 'docs/interop.md',
  MCP: 'docs/interop.md',
  gateway: 'docs/gateway-clients.md',
};

/** The columns of each protocol's table, in this order. */
const COLUMNS: Record<Tried['protocol'], readonly string[]> = {
  A2A: [
    'card',
    'send',
    'stream',
    'same text once',
    'ask and answer',
    'approve',
    'files',
    'get and list',
    'cancel',
    'subscribe',
    'push',
    'errors',
  ],
  ACP: ['initialize', 'prompt', 'approve', 'sessions', 'model', 'files', 'terminal', 'cancel'],
  MCP: [
    'tools',
    'resources',
    'prompts',
    'images',
    'structured',
    'progress',
    'elicitation',
    'sampling',
    'roots',
    'tasks',
    'oauth',
  ],
  // The types of the provider.
  gateway: ['openai', 'anthropic', 'google', 'openai-compatible'],
};
const PROTOCOLS = ['A2A', 'ACP', 'MCP', 'gateway'] as const;

const results = join(mkdtempSync(join(tmpdir(), 'parley-interop-')), 'results.jsonl');
try {
  run('test:interop');
  if (!process.argv.includes('--no-clients')) run('test:clients');
  const found = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n') : [];
  writePages(found.filter((line) => line !== '').map((line) => JSON.parse(line) as Result));
} finally {
  rmSync(results, { force: true });
}

function run(script: string): void {
  const env = { ...process.env, PARLEY_INTEROP_RESULTS: results };
  const { status } = spawnSync('npm', ['run', script], { env, stdio: 'inherit' });
  // The table shows failed tests, so the script continues.
  if (status !== 0) process.exitCode = 1;
}

function writePages(all: readonly Result[]): void {
  for (const protocol of PROTOCOLS) {
    const file = PAGES[protocol];
    let page = readFileSync(file, 'utf8');
    for (const role of ['client', 'server'] as const) {
      const own = all.filter((one) => one.protocol === protocol && one.role === role);
      try {
        page = between(page, `${protocol} ${role}s`, own, COLUMNS[protocol]);
      } catch (error) {
        throw new Error(`cannot write the tables of ${file}`, { cause: error });
      }
    }
    writeFileSync(file, page);
  }
}

/** Replaces the rows between a pair of markers. Rows of peers that did not run stay. */
function between(page: string, name: string, own: readonly Result[], columns: readonly string[]) {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < 0) {
    if (own.length > 0)
      throw new Error(`there are no markers for ${name}: add ${begin} and ${end}`);
    return page;
  }
  const unknown = own.find(({ operation }) => !columns.includes(operation));
  if (unknown)
    throw new Error(`${name}: ${unknown.operation} is not a column; add it to this script`);
  const old = page.slice(from + begin.length, to).split('\n');
  const rows = new Map(
    old
      .filter((line) => line.startsWith('| ') && !line.startsWith('| peer '))
      .map((line) => [line.split(' | ')[0]!.slice(2), line]),
  );
  for (const peer of new Set(own.map((one) => one.peer))) {
    const cells = columns.map((column) => {
      const tried = own.filter((one) => one.peer === peer && one.operation === column);
      if (tried.length === 0) return ' ';
      return tried.every(({ passed }) => passed) ? 'yes' : 'no';
    });
    rows.set(peer, `| ${peer} | ${cells.join(' | ')} |`);
  }
  const head = [`| peer | ${columns.join(' | ')} |`, `|---|${'---|'.repeat(columns.length)}`];
  const table = [...head, ...[...rows.values()].toSorted()].join('\n');
  return `${page.slice(0, from)}${begin}\n${table}\n${page.slice(to)}`;
}
