/** Tasks that another process removes while this process reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Task } from '../protocol/index.ts';
import { createHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';

const scope = { tenant: '', owner: '' };

let made = 0;
function says(text: string): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts };
}

/** A handler with tasks of 100 entries. The task with the id that `removeIn` gets is removed after its first piece. */
function setUp() {
  const store = memoryStore();
  const read = store.read.bind(store);
  let removed: string | undefined;
  store.read = (taskId, after, limit) => {
    const entries = read(taskId, after, limit);
    if (taskId === removed) store.delete(scope, taskId);
    return entries;
  };
  const handler = createHandler(
    {
      async *execute() {
        const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: 'x' }] };
        for (let n = 0; n < 98; n++) yield { kind: 'artifact-update', artifact, append: n > 0 };
      },
    },
    { store },
  );
  const begin = async () => ((await handler.sendMessage({ message: says('go') })) as Task).id;
  const removeIn = (taskId: string) => void (removed = taskId);
  return { handler, begin, removeIn };
}

test('a task that is removed while it is read is not found, and not cut', async () => {
  const { handler, begin, removeIn } = setUp();
  for (const ask of [
    (id: string) => handler.getTask({ id }),
    (id: string) => handler.readLog({ id, after: 10 }),
    (id: string) => handler.subscribe({ id }),
  ]) {
    const id = await begin();
    removeIn(id);
    await assert.rejects(ask(id), { kind: 'taskNotFound' });
  }
});

test('a list leaves out tasks that are removed while it is made', async () => {
  const { handler, begin, removeIn } = setUp();
  const ids = [await begin(), await begin(), await begin(), await begin()];
  const params = { historyLength: 1, pageSize: 2 };
  removeIn(ids[3]!);
  const first = await handler.listTasks(params);
  assert.deepEqual(
    first.tasks.map(({ id }) => id),
    [ids[2]],
  );
  removeIn(ids[1]!);
  const second = await handler.listTasks({ ...params, pageToken: first.nextPageToken });
  assert.deepEqual(
    second.tasks.map(({ id }) => id),
    [ids[0]],
  );
  assert.equal(second.nextPageToken, '');
});

test('a page whose tasks are all removed while it is made does not end the list', async () => {
  const { handler, begin, removeIn } = setUp();
  const ids = [await begin(), await begin()];
  removeIn(ids[1]!);
  const params = { historyLength: 1, pageSize: 1 };
  const first = await handler.listTasks(params);
  assert.deepEqual(first.tasks, []);
  const second = await handler.listTasks({ ...params, pageToken: first.nextPageToken });
  assert.deepEqual(
    second.tasks.map(({ id }) => id),
    [ids[0]],
  );
});
