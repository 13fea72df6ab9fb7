import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListTasksResult } from '../../../protocol/index.ts';
import { earlierTurns } from './conversation.ts';

test('conversations are read one after the other, and no more of them than is used', async () => {
  const pages: PromiseWithResolvers<ListTasksResult>[] = [];
  const limits: (number | undefined)[] = [];
  const read = earlierTurns(() => ({
    listTasks(_params, _call, options) {
      limits.push(options?.maxBytes);
      const page = Promise.withResolvers<ListTasksResult>();
      pages.push(page);
      return page.promise;
    },
  }));
  const all = ['a', 'b', 'c'].map((context) => read({}, context, 'task'));
  const empty: ListTasksResult = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 };
  await Promise.resolve();
  assert.equal(pages.length, 1);
  pages[0]?.reject(new Error('away'));
  await assert.rejects(all[0] ?? Promise.resolve(), /away/);
  assert.equal(pages.length, 2);
  pages[1]?.resolve(empty);
  assert.deepEqual(await all[1], []);
  assert.equal(pages.length, 3);
  pages[2]?.resolve(empty);
  await all[2];
  assert.deepEqual(limits, [400_000, 400_000, 400_000]);
});
