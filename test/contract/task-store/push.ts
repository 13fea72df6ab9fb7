/** The contract's cases about webhooks: their configurations, their progress, and dead letters. */
import assert from 'node:assert/strict';
import { A2AError } from 'parley-a2a/protocol';
import type { DeadLetter, DuePush, PushProgress, PushRecord } from 'parley-a2a/server';
import { alice, artifact, bob, creation, fresh, update, webhook } from './events.ts';
import type { Describe } from './suite.ts';

const key = { taskId: 't1', configId: 'a' };

function letter(seq: number, at: number, of = key): DeadLetter {
  return { ...of, seq, reason: 'HTTP 500', attempts: 7, at };
}

function keysOf(due: readonly DuePush[]): string[] {
  return due.map(({ taskId, configId }) => `${taskId}/${configId}`);
}

export function describePush(describe: Describe): void {
  describe('webhooks', (test) => {
    test('webhooks come in the order in which they were first saved', async ({ store }) => {
      await store.append([creation('t1'), creation('t2')]);
      await store.savePush(webhook('t1', 'b'));
      await store.savePush(webhook('t2', 'b'));
      await store.savePush(webhook('t1', 'a'));
      const replaced: PushRecord = {
        ...webhook('t1', 'b'),
        config: { id: 'b', url: 'https://example.org/new', events: ['x'] },
        version: '1.0',
        view: 'plain',
      };
      await store.savePush(replaced);
      assert.deepEqual(await store.listPush('t1'), [replaced, webhook('t1', 'a')]);
      assert.deepEqual(await store.listPush('t2'), [webhook('t2', 'b')]);
      await store.deletePush('t1', 'b');
      await store.deletePush('t1', 'never there');
      assert.deepEqual(await store.listPush('t1'), [webhook('t1', 'a')]);
      assert.deepEqual(await store.listPush('t2'), [webhook('t2', 'b')]);
      assert.deepEqual(await store.listPush('t3'), []);
    });

    test('a webhook that is removed only with a certain configuration stays if it was replaced', async ({
      store,
    }) => {
      await store.append([creation('t1')]);
      const before = webhook('t1', 'a');
      await store.savePush(before);
      const replaced = { ...before, config: { id: 'a', url: 'https://example.org/new' } };
      await store.savePush(replaced);
      await store.deletePush('t1', 'a', before.config);
      await store.deletePush('t1', 'never there', before.config);
      assert.deepEqual(await store.listPush('t1'), [replaced]);
      await store.savePushProgress([{ ...key, progress: { cursor: 1, attempts: 0, dueAt: 7 } }]);
      await store.deletePush('t1', 'a', { ...replaced.config });
      assert.deepEqual(await store.listPush('t1'), []);
    });

    test('a webhook of a task that does not exist is refused', async ({ store }) => {
      await assert.rejects(
        async () => store.savePush(webhook('t1', 'a')),
        (error) => error instanceof A2AError && error.kind === 'taskNotFound',
      );
    });

    test('progress is kept, and that of an unknown webhook is ignored', async ({
      store,
      reopen,
    }) => {
      await store.append([creation('t1')]);
      await store.savePush(webhook('t1', 'a'));
      await store.savePush(webhook('t1', 'b'));
      const progress = { cursor: 1, attempts: 3, failingSince: 5, dueAt: 1234 };
      await store.savePushProgress([
        { ...key, progress },
        { taskId: 't1', configId: 'never there', progress },
        { taskId: 'never there', configId: 'a', progress },
      ]);
      const expected = [webhook('t1', 'a', progress), webhook('t1', 'b')];
      assert.deepEqual(await store.listPush('t1'), expected);
      if (reopen) assert.deepEqual(await (await reopen()).listPush('t1'), expected);
    });

    test('the due webhooks of all scopes come page by page, earliest first', async ({ store }) => {
      await store.append([creation('t1'), creation('t2', bob), creation('t3')]);
      const due = async (taskId: string, id: string, dueAt: number | undefined) =>
        store.savePush(webhook(taskId, id, { cursor: 1, attempts: 0, dueAt }));
      await due('t1', 'late', 500);
      await due('t1', 'one', 0);
      await due('t2', 'two', 0);
      await due('t3', 'done', undefined);
      const first = await store.duePush({ limit: 2 });
      assert.deepEqual(keysOf(first), ['t1/one', 't2/two']);
      assert.partialDeepStrictEqual(first[1], { ...bob, dueAt: 0 });
      const second = await store.duePush({ limit: 2, after: first[1] });
      assert.deepEqual(keysOf(second), ['t1/late']);
      assert.deepEqual(await store.duePush({ limit: 2, after: second[0] }), []);
      await store.deletePush('t1', 'late');
      await store.delete(bob, 't2');
      assert.deepEqual(keysOf(await store.duePush({ limit: 9 })), ['t1/one']);
    });

    for (const state of ['completed', 'input-required'] as const) {
      test(`an append to a task that is ${state} makes its idle webhooks due`, async ({
        store,
      }) => {
        await store.append([creation('t1'), creation('t2'), update('t1', 1, state)]);
        const idle: PushProgress = { cursor: 2, attempts: 0 };
        const waiting: PushProgress = { cursor: 1, attempts: 9, failingSince: 1, dueAt: 77 };
        for (const taskId of ['t1', 't2']) await store.savePush(webhook(taskId, 'a', idle));
        await store.savePush(webhook('t1', 'b', waiting));
        assert.deepEqual(keysOf(await store.duePush({ limit: 9 })), ['t1/b']);
        await store.append([update('t1', 2, 'working')]);
        assert.deepEqual(await store.listPush('t1'), [
          webhook('t1', 'a', { ...idle, dueAt: 0 }),
          webhook('t1', 'b', waiting),
        ]);
        assert.deepEqual(await store.listPush('t2'), [webhook('t2', 'a', idle)]);
      });
    }

    test('a webhook does not become idle if its task has continued meanwhile', async ({
      store,
    }) => {
      await store.append([creation('t1'), artifact('t1', 1)]);
      await store.savePush(webhook('t1', 'a'));
      await store.savePushProgress([{ ...key, progress: { cursor: 1, attempts: 0 } }]);
      assert.deepEqual(keysOf(await store.duePush({ limit: 9 })), ['t1/a']);
      await store.savePushProgress([{ ...key, progress: { cursor: 2, attempts: 0 } }]);
      assert.deepEqual(await store.duePush({ limit: 9 }), []);
    });

    test('dead letters are kept with the progress, and only their owner finds them', async ({
      store,
      reopen,
    }) => {
      await store.append([creation('t1'), artifact('t1', 1), artifact('t1', 2), creation('t2')]);
      await store.append([creation('t3', bob)]);
      for (const taskId of ['t1', 't2', 't3']) await store.savePush(webhook(taskId, 'a'));
      const given = [letter(1, 10), letter(2, 20), letter(1, 30, { taskId: 't2', configId: 'a' })];
      for (const deadLetter of given) {
        const { taskId, configId, seq } = deadLetter;
        const progress = { ...fresh, cursor: seq };
        await store.savePushProgress([{ taskId, configId, progress, deadLetter }]);
      }
      assert.equal((await store.listPush('t1'))[0]?.progress.cursor, 2);
      const [one, two, other] = given;
      const again = (await reopen?.()) ?? store;
      assert.deepEqual(await again.deadLetters({ ...alice, limit: 9 }), [other, two, one]);
      assert.deepEqual(await again.deadLetters({ ...alice, limit: 1 }), [other]);
      assert.deepEqual(await again.deadLetters({ ...alice, ...key, limit: 9 }), [two, one]);
      assert.deepEqual(await again.deadLetters({ ...alice, taskId: 't1', limit: 1 }), [two]);
      const elsewhere = { ...alice, taskId: 't1', configId: 'b', limit: 9 };
      assert.deepEqual(await again.deadLetters(elsewhere), []);
      assert.deepEqual(await again.deadLetters({ ...bob, limit: 9 }), []);
      assert.deepEqual(await again.deadLetters({ ...bob, ...key, limit: 9 }), []);
    });

    test('dead letters go with their webhook, with their task, and when their events are sent again', async ({
      store,
    }) => {
      await store.append([creation('t1'), creation('t2'), creation('t3')]);
      for (const taskId of ['t1', 't2', 't3']) {
        await store.savePush(webhook(taskId, 'a'));
        for (const seq of [1, 2, 3]) {
          const deadLetter = letter(seq, seq, { taskId, configId: 'a' });
          const progress = { ...fresh, cursor: seq };
          await store.savePushProgress([{ taskId, configId: 'a', progress, deadLetter }]);
        }
      }
      await store.deletePush('t1', 'a');
      await store.savePush(webhook('t1', 'a'));
      await store.delete(alice, 't2');
      await store.savePush(webhook('t3', 'a', { ...fresh, cursor: 1 }));
      const left = await store.deadLetters({ ...alice, limit: 9 });
      assert.deepEqual(left, [letter(1, 1, { taskId: 't3', configId: 'a' })]);
    });

    test('webhooks of a deleted task do not belong to a task that is created later', async ({
      store,
    }) => {
      await store.append([creation('t1')]);
      await store.savePush(webhook('t1', 'a'));
      const progress = { ...fresh, cursor: 1 };
      await store.savePushProgress([{ ...key, progress, deadLetter: letter(1, 1) }]);
      await store.delete(alice, 't1');
      await store.append([creation('t2')]);
      await store.savePush(webhook('t2', 'b'));
      assert.deepEqual(await store.listPush('t2'), [webhook('t2', 'b')]);
      assert.deepEqual(await store.deadLetters({ ...alice, limit: 9 }), []);
      assert.deepEqual(keysOf(await store.duePush({ limit: 9 })), ['t2/b']);
    });

    test('dead letters of a deleted task are not shown for a task that another user creates later', async ({
      store,
    }) => {
      await store.append([creation('t1')]);
      await store.savePush(webhook('t1', 'a'));
      const progress = { ...fresh, cursor: 1 };
      await store.savePushProgress([{ ...key, progress, deadLetter: letter(1, 1) }]);
      await store.delete(alice, 't1');
      await store.append([creation('t2', bob)]);
      await store.savePush(webhook('t2', 'b', { ...fresh, cursor: 5 }));
      assert.deepEqual(await store.deadLetters({ ...bob, taskId: 't2', limit: 9 }), []);
      assert.deepEqual(await store.deadLetters({ ...alice, limit: 9 }), []);
    });

    test('a webhook has at most a thousand dead letters, the newest', async ({ store }) => {
      await store.append([creation('t1')]);
      await store.savePush(webhook('t1', 'a'));
      const changes = Array.from({ length: 1002 }, (_, at) => ({
        ...key,
        progress: { ...fresh, cursor: at + 1 },
        deadLetter: letter(at + 1, at + 1),
      }));
      await store.savePushProgress(changes);
      const left = await store.deadLetters({ ...alice, ...key, limit: 2000 });
      assert.equal(left.length, 1000);
      assert.deepEqual([left[0]?.seq, left.at(-1)?.seq], [1002, 3]);
    });
  });
}
