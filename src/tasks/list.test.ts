import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';
import type { TaskStore } from './store/store.ts';

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

test('a page of whole tasks ends before the one that makes it too large, and goes on there', async () => {
  const store = memoryStore();
  const read: string[] = [];
  const original = store.read.bind(store);
  store.read = (taskId, after, limit) => {
    read.push(taskId);
    return original(taskId, after, limit);
  };
  const handler = createHandler({ async *execute() {} }, { store });
  for (const [messageId, size] of [
    ['a', 10],
    ['b', 10],
    ['c', 5000],
    ['d', 10],
  ] as const) {
    const parts = [{ kind: 'text' as const, text: 'x'.repeat(size) }];
    const message = { kind: 'message' as const, messageId, role: 'user' as const, parts };
    await handler.sendMessage({ message: { ...message, contextId: 'c' } });
  }
  const params = { contextId: 'c', historyLength: 10, includeArtifacts: true };
  const pages: (string | undefined)[][] = [];
  const reads: number[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
    read.length = 0;
    const asked = pageToken === '' ? params : { ...params, pageToken };
    const page = await handler.listTasks(asked, {}, { maxBytes: 3000 });
    pages.push(page.tasks.map(({ history }) => history?.[0]?.messageId));
    reads.push(new Set(read).size);
    pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
  }
  assert.deepEqual(pages, [['d'], ['c'], ['b', 'a']]);
  // The large one was read to know that, and nothing behind it.
  assert.deepEqual(reads, [2, 1, 2]);
});

for (const changes of [1, 3]) {
  test(`a page that ends early skips no task if tasks leave the filter meanwhile, ${changes} times`, async () => {
    const store: TaskStore = memoryStore();
    const list = store.list.bind(store);
    const ids: string[] = [];
    let left = changes;
    // The page is listed again with a smaller limit. Before that, its first task leaves the filter.
    store.list = async (query) => {
      if (query.limit < 50 && left-- > 0) await handler.cancelTask({ id: ids.pop() ?? '' });
      return list(query);
    };
    const handler = createHandler(
      {
        async *execute() {
          yield { kind: 'status-update', state: 'input-required' };
        },
      },
      { store },
    );
    for (const size of [10, 10, 1000, 10, 10, 1000, 1000, 10]) {
      const parts = [{ kind: 'text' as const, text: 'x'.repeat(size) }];
      const messageId = `m${ids.length}`;
      const message = { kind: 'message' as const, messageId, role: 'user' as const, parts };
      const task = await handler.sendMessage({ message: { ...message, contextId: 'c' } });
      if (task.kind === 'task') ids.push(task.id);
    }
    const params = { contextId: 'c', historyLength: 10, status: 'input-required' as const };
    const seen: string[] = [];
    for (let pageToken: string | undefined; pageToken !== '';) {
      const page = await handler.listTasks({ ...params, pageToken }, {}, { maxBytes: 2500 });
      seen.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    }
    // All tasks that still wait, newest first, each one once.
    assert.deepEqual(seen.slice(-ids.length), ids.toReversed());
    assert.equal(new Set(seen).size, seen.length);
  });
}

test('a page of a log ends early if its entries are large, in a store in memory too', async () => {
  const chunks = 40;
  const handler = createHandler({
    async *execute() {
      const parts = [{ kind: 'text' as const, text: 'x'.repeat(600_000) }];
      for (let made = 0; made < chunks; made++) {
        yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts } };
      }
    },
  });
  const parts = [{ kind: 'text' as const, text: 'hi' }];
  const task = await handler.sendMessage({
    message: { kind: 'message', messageId: 'm', role: 'user', parts },
  });
  assert.equal(task.kind, 'task');
  const id = task.kind === 'task' ? task.id : '';
  const pages: number[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const { entries, next } = await handler.readLog({ id, after });
    pages.push(entries.length);
    after = next;
  }
  // The task itself and its end are entries as well.
  assert.equal(
    pages.reduce((sum, length) => sum + length),
    chunks + 2,
  );
  assert.ok(pages[0]! < 20, `${pages[0]} entries on the first page`);
});
