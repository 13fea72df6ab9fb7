/**
 * Builds the documentation site into dist/site: first the reference of the library's API, from the comments in the
 * source, then all pages. It needs no network.
 *
 *   npm run docs
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };

const root = path.join(import.meta.dirname, '..');
/** Each build writes this folder. It is not in the repository. */
const reference = path.join(root, 'docs/reference');

function run(name: string, file: string, args: readonly string[]): void {
  const script = path.join(root, file);
  const { status } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`${name} failed`);
}

/** The sources behind package.json's exports, without `.`, which only repeats others. */
const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  name !== '.' && typeof entry === 'object' && entry['parley-source'].startsWith('./src/')
    ? [entry['parley-source']]
    : [],
);

const options = {
  plugin: 'typedoc-plugin-markdown',
  out: reference,
  tsconfig: 'tsconfig.build.json',
  name: 'API reference',
  readme: 'none',
  router: 'module',
  logLevel: 'Error',
};
const flags = [
  // `npm run check` has checked the types, with the TypeScript of this repository.
  'skipErrorChecking',
  'excludeInternal',
  'excludePrivate',
  'disableSources',
  'hidePageHeader',
  'hideBreadcrumbs',
];

rmSync(reference, { recursive: true, force: true });
run(
  'typedoc',
  'docs/site/node_modules/typedoc/bin/typedoc',
  Object.entries(options)
    .flatMap(([name, value]) => [`--${name}`, value])
    .concat(flags.map((flag) => `--${flag}`))
    .concat(entries.flatMap((entry) => ['--entryPoints', entry])),
);
run('vitepress', 'node_modules/vitepress/bin/vitepress.js', ['build', 'docs']);
