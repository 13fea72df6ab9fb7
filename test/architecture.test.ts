// docs/ARCHITECTURE.md, docs/threat-model.md and docs/operations.md name files. Each of them exists, and the architecture
// page stays a page.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { LIMITS } from '../src/serve-options.ts';

const root = path.resolve(import.meta.dirname, '..');
const page = readFileSync(path.join(root, 'docs/ARCHITECTURE.md'), 'utf8');
const src = path.join(root, 'src');

test('every file and folder that the architecture page names exists', () => {
  const named = [...page.matchAll(/`((?:[\w-]+\/)+(?:[\w-]+\.tsx?)?)`/g)].map(
    ([, name = '']) => name,
  );
  assert.ok(named.length > 40);
  const rooms = readdirSync(src);
  for (const name of named) {
    const [room = ''] = name.split('/');
    // Names such as `approval/policy.ts` continue the module of the sentence before.
    const found = rooms.includes(room)
      ? existsSync(path.join(src, name))
      : rooms.some((each) => existsSync(path.join(src, each, name)));
    assert.ok(found || existsSync(path.join(root, name)), `${name} does not exist`);
  }
});

test('every module is in the table of modules, and the page has at most 120 lines', () => {
  for (const entry of readdirSync(src, { withFileTypes: true })) {
    if (entry.isDirectory()) assert.match(page, new RegExp(`^\\| \`${entry.name}/\` \\|`, 'm'));
  }
  assert.ok(page.split('\n').length <= 120);
});

test('every test that the threat model names exists', () => {
  const threats = readFileSync(path.join(root, 'docs/threat-model.md'), 'utf8');
  const named = [...threats.matchAll(/`((?:src|test)\/[\w/.-]+)`/g)].map(([, name = '']) => name);
  assert.ok(named.length > 40);
  for (const name of named) assert.ok(existsSync(path.join(root, name)), `${name} does not exist`);
});

test('every limit in the table of limits has its default and a test that exists', () => {
  const operations = readFileSync(path.join(root, 'docs/operations.md'), 'utf8');
  const [, limits = ''] = /^## Limits$(.*?)^## /ms.exec(operations) ?? [];
  const rows = limits
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.endsWith(' test |'));
  assert.ok(rows.length > 30);
  for (const row of rows) {
    const cells = row.split('|').slice(1, -1);
    const tests = [...(cells.at(-1) ?? '').matchAll(/`((?:src|test)\/[\w/.-]+)`/g)];
    assert.ok(tests.length > 0, `no test: ${row}`);
    for (const [, name = ''] of tests) {
      assert.ok(existsSync(path.join(root, name)), `${name} does not exist`);
    }
  }
  for (const [name, value] of Object.entries(LIMITS)) {
    const row = rows.find((each) => each.includes(`\`${name}\``));
    // Heartbeats are not a limit for clients.
    if (name === 'heartbeatMs') continue;
    assert.ok(row, `${name} is not in the table`);
    assert.equal(row.split('|')[2]?.trim(), shown(name, value), name);
  }
});

/** A limit as the table shows it. */
function shown(name: string, value: number): string {
  if (name.endsWith('Ms')) return `${value / 1000} s`;
  return name.endsWith('Bytes') ? `${value / 1024 / 1024} MB` : value.toLocaleString('en');
}
