import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absoluteFolders } from './index.ts';

test('relative and empty folders are left out of a search path, and it is never empty', () => {
  assert.equal(absoluteFolders('/a:.:/b::bin:./c:'), '/a:/b');
  for (const none of ['', '.', ':', './bin', undefined]) {
    assert.equal(absoluteFolders(none), '/usr/bin:/bin', none);
  }
});
