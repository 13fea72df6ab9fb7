import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../storage-error.ts';
import { memoryArtifacts } from './memory.ts';

test('a save that does not fit is refused, and fits once something was deleted', async () => {
  const store = memoryArtifacts({ maxSize: 100 });
  const key = { app: 'app', user: 'alice', id: 's' };
  const content = { kind: 'text', text: 'x'.repeat(60) } as const;
  await store.save(key, 'one', content);
  await assert.rejects(
    store.save(key, 'two', content),
    (error) => error instanceof StorageError && error.code === 'full',
  );
  assert.deepEqual(await store.list(key), ['one']);
  await store.delete(key, 'one');
  assert.equal(await store.save(key, 'two', content), 0);
});
