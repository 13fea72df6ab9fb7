/**
 * Makes a release. package.json has the version; this script writes it everywhere else.
 *
 *   npm run release -- 0.2.0             checks, changelog, version, SBOM, commit and tag; publishes nothing
 *   npm run release -- 0.2.0 --dry-run   prints the steps, and changes nothing
 *   npm run release -- --publish         publishes the tagged version with provenance: for .github/workflows/release.yml
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { parseArgs } from 'node:util';

interface Step {
  readonly title: string;
  run(): void;
}

/** The npm scripts that must pass before a release. */
const CHECKS = ['check', 'test', 'test:cli', 'test:interop', 'test:package'];
const PACKAGES = ['parley-a2a', 'parley-cli'];
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
const SBOM = 'dist/sbom.cdx.json';
const CHANGELOG = 'CHANGELOG.md';
/** The files that repeat the version, with the patterns around it. */
const COPIES: Readonly<Record<string, readonly RegExp[]>> = {
  'package.json': [/^( {2}"version": ")[^"]+/m],
  // The lock has it twice: at the top, and for the root package.
  'package-lock.json': [/^( {2}"version": ")[^"]+/m, /^( {6}"version": ")[^"]+/m],
  'registry/parley/agent.json': [/("version": ")[^"]+/, /("package": "parley-cli@)[^"]+/],
};

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      'skip-checks': { type: 'boolean', default: false },
    },
  });
  const [version = ''] = positionals;
  const steps = values.publish
    ? publishSteps()
    : releaseSteps(version, { skipChecks: values['skip-checks'] });
  try {
    for (const step of steps) {
      process.stdout.write(`${values['dry-run'] ? 'would ' : ''}${step.title}\n`);
      if (!values['dry-run']) step.run();
    }
  } catch (error) {
    // The working tree was clean before, so the next attempt can start from the committed files.
    if (!values.publish) git('checkout', 'HEAD', '--', ...Object.keys(COPIES), CHANGELOG);
    throw error;
  }
}

function releaseSteps(version: string, { skipChecks }: { skipChecks: boolean }): Step[] {
  const current = currentVersion();
  if (!VERSION.test(version)) {
    throw new Error(
      `give the new version: npm run release -- 0.2.0 (the current version is ${current})`,
    );
  }
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '') throw new Error(`the tag ${tag} already exists`);
  const newer = releasedVersions().find((released) => compare(version, released) < 0);
  if (newer !== undefined) {
    throw new Error(`${version} is older than ${newer}, which is released: give a later version`);
  }
  // package.json may already have the new version, or the version that a release candidate leads to.
  if (compare(version, firstCandidate(current)) < 0) {
    throw new Error(`${version} is older than ${current}, the version in package.json`);
  }
  if (git('status', '--porcelain') !== '') {
    throw new Error('commit or stash your changes first: git status lists them');
  }
  const notes = unreleasedNotes();
  if (notes === '') throw new Error(`${CHANGELOG} has nothing under "Unreleased"`);
  if (!fs.existsSync(`test/stores/${version}`)) {
    throw new Error(
      `test/stores/${version} is missing: set the version in package.json and run npm run fixtures`,
    );
  }
  const checks = skipChecks ? [] : CHECKS;
  return [
    {
      title: `write ${version} to ${Object.keys(COPIES).join(', ')}`,
      run: () => writeVersion(version),
    },
    {
      title: `move ${notes.split('\n').length} lines of ${CHANGELOG} to ${version}`,
      run: () => {
        const date = new Date().toISOString().slice(0, 10);
        const text = fs.readFileSync(CHANGELOG, 'utf8');
        const heading = '## Unreleased\n';
        fs.writeFileSync(CHANGELOG, text.replace(heading, `${heading}\n## ${version} - ${date}\n`));
      },
    },
    ...checks.map((name) => ({ title: `run npm run ${name}`, run: () => npm('run', name) })),
    { title: `commit and tag ${tag}`, run: () => commitAndTag(version, tag, notes) },
    {
      title: `ask you to publish the release: git push origin HEAD ${tag}`,
      run: () => {},
    },
  ];
}

function commitAndTag(version: string, tag: string, notes: string): void {
  git('add', ...Object.keys(COPIES).filter((file) => fs.existsSync(file)), CHANGELOG);
  git('commit', '--message', `Release ${version}`);
  git('tag', '--annotate', tag, '--message', `${tag}\n\n${notes}`);
}

/** Returns the steps that publish the tagged commit. Only in the workflow can npm state the provenance. */
function publishSteps(): Step[] {
  const version = currentVersion();
  const tag = `v${version}`;
  // npm installs the version with the tag latest, so a version such as 0.2.0-rc.1 must have another tag.
  const channel = version.includes('-') ? 'next' : 'latest';
  const { repository } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(tag)) {
    throw new Error(
      `this commit does not have the tag ${tag}: run npm run release -- VERSION first`,
    );
  }
  if (repository === undefined) {
    throw new Error('package.json needs "repository": npm compares it with the provenance');
  }
  return [
    { title: 'build the packages', run: () => npm('run', 'build') },
    {
      title: `write the bill of materials to ${SBOM}`,
      run: () => {
        const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'];
        fs.writeFileSync(SBOM, execFileSync('npm', args, { maxBuffer: 1 << 28 }));
      },
    },
    ...PACKAGES.map((name) => ({
      title: `publish ${name} ${version} as ${channel} with provenance`,
      run: () =>
        npm('publish', `./dist/${name}`, '--provenance', '--access', 'public', '--tag', channel),
    })),
  ];
}

function currentVersion(): string {
  return JSON.parse(fs.readFileSync('package.json', 'utf8')).version;
}

function writeVersion(version: string): void {
  for (const [file, patterns] of Object.entries(COPIES)) {
    let text = fs.readFileSync(file, 'utf8');
    for (const pattern of patterns) text = text.replace(pattern, `$1${version}`);
    fs.writeFileSync(file, text);
  }
}

/** Returns the text between "Unreleased" and the next version. */
function unreleasedNotes(): string {
  const [, rest = ''] = fs.readFileSync(CHANGELOG, 'utf8').split(/^## Unreleased$/m);
  return (rest.split(/^## /m)[0] ?? '').trim();
}

/** Returns the versions whose tags this commit or a commit before it has. */
function releasedVersions(): string[] {
  const tags = git('tag', '--list', 'v*', '--merged', 'HEAD').split('\n');
  return tags.map((tag) => tag.slice(1)).filter((version) => VERSION.test(version));
}

/** Returns the version that comes before all release candidates of a version. */
function firstCandidate(version: string): string {
  return `${version.split('-')[0]}-0`;
}

/** Compares two versions by the rules of semver: 1.0.0-rc.2 comes before 1.0.0-rc.10, and this before 1.0.0. */
function compare(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  for (const [index, part] of a.entries()) {
    const difference = compareParts(part, b[index]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Returns the parts to compare. A version without a suffix gets one that comes after all others. */
function partsOf(version: string): (number | string)[] {
  const [numbers = '', ...suffix] = version.split('-');
  const last = suffix.length > 0 ? suffix.join('-').split('.') : ['~'];
  return [...numbers.split('.'), ...last].map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Compares two parts. Numbers come before words. */
function compareParts(a: number | string, b: number | string | undefined): number {
  if (b === undefined) return 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { stdio: 'inherit' });
}

try {
  main();
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
