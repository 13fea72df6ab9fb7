// The terminal UI draws its first frame before zod and the schemas are loaded. This test reads the imports: what the UI
// and its command load statically is loaded before the first frame.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { staticImportsOf } from '../scripts/imports.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Every module that the first one loads statically, with the path of imports that leads to it. */
function loadedBy(first: string): Map<string, string> {
  const trails = new Map([[first, first]]);
  // A map also visits the entries that are added during the loop.
  for (const [file, trail] of trails) {
    if (!/\.tsx?$/.test(file)) continue;
    for (const specifier of staticImportsOf(file, readFileSync(path.join(root, file), 'utf8'))) {
      const target = specifier.startsWith('.')
        ? path.posix.join(path.posix.dirname(file), specifier)
        : specifier;
      if (!trails.has(target)) trails.set(target, `${trail} → ${target}`);
    }
  }
  return trails;
}

for (const first of ['src/cli/main.ts', 'src/cli/commands/terminal-ui.ts', 'src/tui/index.ts']) {
  test(`${first} loads neither zod nor the schemas statically`, () => {
    const loaded = loadedBy(first);
    assert.ok(loaded.size > 10);
    const heavy = [...loaded].filter(([name]) =>
      /^zod(?:$|\/)|^src\/protocol\/index\.ts$/.test(name),
    );
    assert.deepEqual(
      heavy.map(([, trail]) => trail),
      [],
    );
  });
}

test('what the terminal UI loads later is not counted', () => {
  const loaded = loadedBy('src/tui/index.ts');
  assert.ok(loaded.has('src/tui/control/store.ts'));
  assert.ok(!loaded.has('src/display/state/reduce.ts'));
  assert.ok(loadedBy('src/display/state/reduce.ts').has('zod'));
});
