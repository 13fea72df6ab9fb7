import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { METRICS } from './metric-names.ts';

// A name with a slip would be counted nowhere, and one that nobody counts would promise something.
test('the gateway counts what the catalogue has, and nothing else', () => {
  const root = path.resolve(import.meta.dirname, '..');
  const own = globSync('**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const files = [...own, '../store/postgres/store-metrics.ts', '../base/tracing/export/otlp.ts'];
  const used = new Set<string>();
  for (const file of files) {
    const source = readFileSync(path.join(root, file), 'utf8');
    for (const [, name = ''] of source.matchAll(/\.(?:count|observe|gauge)\(\s*'([^']+)'/g)) {
      used.add(name);
    }
  }
  assert.deepEqual([...used].toSorted(), Object.keys(METRICS).toSorted());
});
