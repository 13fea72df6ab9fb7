/** The part of the contract about tasks that expire. */
import assert from 'node:assert/strict';
import type { TaskStore } from 'parley-a2a/server';
import { alice, artifact, bob, creation, ids, update } from './events.ts';
import type { Describe } from './suite.ts';

export function describeExpiry(describe: Describe): void {
  describe('expiry', (test) => {
    test('a task expires at the time with which it was created, and not before', async ({
      store,
    }) => {
      await store.append([{ ...creation('t1'), expiresAt: 1000 }, creation('t2')]);
      assert.deepEqual(await expired(store, 999), []);
      assert.deepEqual(await expired(store, 1000), ['t1']);
      assert.equal((await store.head(alice, 't1'))?.expiresAt, 1000);
      assert.equal((await store.head(alice, 't2'))?.expiresAt, undefined);
    });

    test('the earliest come first, of every scope and state, and no more than were asked for', async ({
      store,
    }) => {
      const times = { t1: 30, t2: 10, t3: 20, t4: 20 };
      await store.append(
        Object.entries(times).map(([id, expiresAt]) =>
          Object.assign(creation(id, id === 't2' ? bob : alice), { expiresAt }),
        ),
      );
      await store.append([update('t1', 1, 'completed')]);
      assert.deepEqual((await expired(store, 100)).toSorted(), ['t1', 't2', 't3', 't4']);
      const [first, ...rest] = await store.expired(100, 3);
      assert.deepEqual({ tenant: first?.tenant, owner: first?.owner }, bob);
      assert.deepEqual(ids(rest).toSorted(), ['t3', 't4']);
      const last = (await store.expired(100, 4)).at(-1);
      assert.equal(last?.taskId, 't1');
      assert.equal(last.status.state, 'completed');
      assert.equal(last.seq, 2);
    });

    test('an expiry is moved, taken away and given', async ({ store }) => {
      await store.append([{ ...creation('t1'), expiresAt: 10 }, creation('t2')]);
      await store.setExpiry(alice, 't1', 20);
      assert.deepEqual(await expired(store, 19), []);
      assert.deepEqual(await expired(store, 20), ['t1']);
      await store.setExpiry(alice, 't1', undefined);
      assert.deepEqual(await expired(store, 1e15), []);
      await store.setExpiry(alice, 't2', 5);
      assert.deepEqual(await expired(store, 5), ['t2']);
    });

    test("nobody moves the expiry of somebody else's task, or of none", async ({ store }) => {
      await store.append([{ ...creation('t1'), expiresAt: 10 }]);
      await store.setExpiry(bob, 't1', undefined);
      await store.setExpiry(alice, 'none', 1);
      assert.deepEqual(await expired(store, 10), ['t1']);
    });

    test('what happens to a task leaves its expiry and its place in the lists alone', async ({
      store,
    }) => {
      await store.append([{ ...creation('t1'), expiresAt: 10 }, creation('t2')]);
      const { updatedAt } = (await store.head(alice, 't1')) ?? {};
      await store.setExpiry(alice, 't1', 20);
      assert.equal((await store.head(alice, 't1'))?.updatedAt, updatedAt);
      assert.deepEqual(ids((await store.list({ ...alice, limit: 2 })).heads), ['t2', 't1']);
      await store.append([artifact('t1', 1), update('t1', 2, 'completed')]);
      assert.equal((await store.head(alice, 't1'))?.expiresAt, 20);
    });

    test('a task that is deleted does not expire', async ({ store }) => {
      await store.append([
        { ...creation('t1'), expiresAt: 10 },
        { ...creation('t2'), expiresAt: 10 },
      ]);
      await store.delete(alice, 't1');
      assert.deepEqual(await expired(store, 10), ['t2']);
    });

    test('a creation that was refused sets no expiry', async ({ store }) => {
      await store.append([creation('t1')]);
      assert.deepEqual(await store.append([{ ...creation('t1'), expiresAt: 10 }]), ['conflict']);
      assert.deepEqual(await expired(store, 10), []);
    });

    test('an expiry survives a restart', async ({ store, reopen }) => {
      if (!reopen) return;
      await store.append([{ ...creation('t1'), expiresAt: 10 }]);
      assert.deepEqual(await expired(await reopen(), 10), ['t1']);
    });
  });
}

async function expired(store: TaskStore, now: number, limit = 10): Promise<string[]> {
  return ids(await store.expired(now, limit));
}
