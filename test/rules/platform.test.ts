import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../../src');

test('only base/system looks at the operating system', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: root }).filter(
    (file) => !/\.test\.tsx?$/.test(file) && !file.startsWith(path.join('base', 'system')),
  );
  const found = files.filter((file) =>
    /process\.platform|\bplatform\(\)|from 'node:os'.*platform/.test(
      readFileSync(path.join(root, file), 'utf8'),
    ),
  );
  assert.deepEqual(found, []);
});
