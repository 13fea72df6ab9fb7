import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHandler } from './handler.ts';

test('the last tasks of a context are read whole and uncounted: the page says its own size', async () => {
  const handler = createHandler({
    async *execute({ message }) {
      yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts: message.parts } };
    },
  });
  for (const text of ['one', 'two', 'three']) {
    const parts = [{ kind: 'text' as const, text }];
    const message = { kind: 'message' as const, messageId: text, role: 'user' as const, parts };
    await handler.sendMessage({ message: { ...message, contextId: 'c' } });
  }
  const params = { contextId: 'c', pageSize: 2, historyLength: 10, includeArtifacts: true };
  assert.equal((await handler.listTasks(params)).totalSize, 3);
  const page = await handler.listTasks(params, {}, { total: false });
  assert.equal(page.totalSize, 2);
  assert.notEqual(page.nextPageToken, '');
  assert.deepEqual(
    page.tasks.map(({ history, artifacts }) => [history?.[0]?.messageId, artifacts?.length]),
    [
      ['three', 1],
      ['two', 1],
    ],
  );
});
