// The release script, in a clone that has only the files that it reads.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const FILES = ['package.json', 'package-lock.json', 'CHANGELOG.md', 'registry/parley/agent.json'];
const VERSION = '7.1.0';
let clone: string;

before(() => {
  clone = mkdtempSync(path.join(tmpdir(), 'parley-release-'));
  for (const file of FILES) cpSync(path.join(root, file), path.join(clone, file));
  mkdirSync(path.join(clone, 'test/stores', VERSION), { recursive: true });
  writeFileSync(path.join(clone, 'test/stores', VERSION, 'contents.json'), '{}\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('config', 'user.name', 'A Releaser');
  git('config', 'user.email', 'releaser@example.com');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Start');
});
after(() => rmSync(clone, { recursive: true, force: true }));

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim();
}

function release(...args: string[]) {
  const script = path.join(root, 'scripts/release.ts');
  return spawnSync(process.execPath, [script, ...args], { cwd: clone, encoding: 'utf8' });
}

function read(file: string): string {
  return readFileSync(path.join(clone, file), 'utf8');
}

/** Commits another version in package.json. */
function setVersion(version: string): void {
  const manifest = { ...JSON.parse(read('package.json')), version, repository: 'https://a.test' };
  writeFileSync(path.join(clone, 'package.json'), JSON.stringify(manifest));
  git('commit', '--quiet', '--all', '--message', version);
}

test('no installed package is deprecated; npm does not say so here, because .npmrc turns its warnings off', () => {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  const deprecated = Object.entries<{ deprecated?: string }>(packages)
    .filter(([, about]) => about.deprecated !== undefined)
    .map(([name, about]) => `${name}: ${about.deprecated}`);
  assert.deepEqual(deprecated, []);
});

test('a dry run says what a release would do, and changes nothing', () => {
  const { stdout, stderr } = release(VERSION, '--dry-run');
  assert.equal(stderr, '');
  assert.match(stdout, /would write 7\.1\.0 to package\.json, package-lock\.json/);
  assert.match(stdout, /would move \d+ lines of CHANGELOG\.md to 7\.1\.0/);
  for (const check of ['check', 'test', 'test:package']) {
    assert.ok(stdout.includes(`would run npm run ${check}\n`), check);
  }
  assert.match(stdout, /would commit and tag v7\.1\.0/);
  assert.equal(git('status', '--porcelain'), '');
  assert.equal(git('tag'), '');
});

test('a release whose checks fail leaves the files as they were', () => {
  const before = read('CHANGELOG.md');
  // The clone has no sources, so that its first check fails.
  const { status, stderr } = release(VERSION);
  assert.equal(status, 1);
  assert.match(stderr, /release: Command failed: npm run check/);
  assert.equal(git('status', '--porcelain'), '');
  assert.equal(git('tag'), '');
  assert.equal(read('CHANGELOG.md'), before);
});

test('a release is refused with one line that says why', () => {
  const refused = (...args: string[]) => {
    const { status, stderr } = release(...args);
    assert.equal(status, 1);
    assert.equal(stderr.split('\n').length, 2, stderr);
    return stderr;
  };
  assert.match(refused(), /give the new version/);
  assert.match(refused('0.0.1'), /0\.0\.1 is older than/);
  assert.match(refused('7.2.0'), /test\/stores\/7\.2\.0 is missing.*npm run fixtures/);
  assert.match(refused('--publish'), /does not have the tag/);
  writeFileSync(path.join(clone, 'new.txt'), '');
  assert.match(refused(VERSION), /commit or stash your changes first/);
  rmSync(path.join(clone, 'new.txt'));
});

test('a release writes the version everywhere, moves the notes, and makes a tag with them', () => {
  const { stderr } = release(VERSION, '--skip-checks');
  assert.equal(stderr, '');
  assert.equal(JSON.parse(read('package.json')).version, VERSION);
  const lock = JSON.parse(read('package-lock.json'));
  assert.deepEqual([lock.version, lock.packages[''].version], [VERSION, VERSION]);
  const entry = JSON.parse(read('registry/parley/agent.json'));
  assert.equal(entry.version, VERSION);
  assert.equal(entry.distribution.npx.package, `parley-cli@${VERSION}`);
  assert.match(
    read('CHANGELOG.md'),
    /^## Unreleased\n\n## 7\.1\.0 - \d{4}-\d\d-\d\d\n\n### Added/m,
  );
  assert.equal(git('status', '--porcelain'), '');
  assert.match(git('tag', '--list', '--format', '%(contents)', 'v7.1.0'), /^v7\.1\.0\n\n\S/);
  assert.match(release(VERSION).stderr, /the tag v7\.1\.0 already exists/);
});

test('a version that comes before a released one is refused, also if package.json has it already', () => {
  assert.match(
    release('7.1.0-rc.1').stderr,
    /7\.1\.0-rc\.1 is older than 7\.1\.0, which is released/,
  );
  setVersion('7.1.0-rc.1');
  assert.match(release('7.1.0-rc.1').stderr, /which is released: give a later version/);
  setVersion('7.2.0-rc.10');
  git('tag', 'v7.2.0-rc.10');
  assert.match(release('7.2.0-rc.9').stderr, /7\.2\.0-rc\.9 is older than 7\.2\.0-rc\.10/);
  for (const version of ['7.2.0-rc.11', '7.2.0']) {
    assert.match(release(version).stderr, /is missing|nothing under/, version);
  }
  // A branch for an older line has only the tags of its own history.
  git('checkout', '--quiet', '-b', 'old', 'v7.1.0^');
  assert.match(release('7.0.9').stderr, /test\/stores\/7\.0\.9 is missing/);
  git('checkout', '--quiet', 'main');
});

test('a version before a release is not published as the latest one', () => {
  const publish = (version: string) => {
    setVersion(version);
    git('tag', '--force', `v${version}`);
    return release('--publish', '--dry-run').stdout;
  };
  assert.match(publish('7.2.0-rc.1'), /would publish parley-cli 7\.2\.0-rc\.1 as next/);
  assert.match(publish('7.2.0'), /would publish parley-cli 7\.2\.0 as latest/);
});
