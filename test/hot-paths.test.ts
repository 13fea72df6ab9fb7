// V8 allocates a function that is assigned to a property (`live.onLost = () => …`) in the old generation. The function
// keeps everything that it uses in memory until the next full garbage collection. On the path of a request, this doubled
// the time for garbage collection. A field of a class, or a function that is first assigned to a variable, is allowed.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const SOURCE = path.join(import.meta.dirname, '../src');
const FOLDERS =
  'tasks,http,client/connection,client/follow,gateway/agents,gateway/api,gateway/tasks';
const ASSIGNED =
  /[\w\])!]\.#?\w+ (?:\?\?)?= (?:async )?(?:function\b|(?:\([^()]*\)|\w+)(?:: \w+)? =>)/;

/** Assignments that run once per server, not once per request. */
const ONCE = new Set(['http/adapters/listener.ts']);

test('no function is assigned to a property on the path of a request', () => {
  const files = globSync(`{${FOLDERS}}/**/*.ts`, { cwd: SOURCE }).filter(
    (file) => !file.endsWith('.test.ts') && !ONCE.has(file),
  );
  assert.ok(files.length > 50);
  const found = files.flatMap((file) =>
    readFileSync(path.join(SOURCE, file), 'utf8')
      .split('\n')
      .flatMap((line, at) => (ASSIGNED.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
  );
  assert.deepEqual(found, []);
});
