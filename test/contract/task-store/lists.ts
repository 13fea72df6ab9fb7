/** The part of the contract about lists. */
import assert from 'node:assert/strict';
import { A2AError } from 'parley-a2a/protocol';
import type { ListQuery, TaskHead, TaskStore } from 'parley-a2a/server';
import { alice, artifact, bob, creation, ids, update } from './events.ts';
import type { Describe } from './suite.ts';

export function describeLists(describe: Describe): void {
  describe('lists', (test) => {
    test('a status that the fold refuses does not move a task, also in the same batch', async ({
      store,
    }) => {
      await store.append([
        creation('t1'),
        update('t1', 1, 'failed'),
        creation('t2'),
        update('t1', 2, 'working'),
      ]);
      assert.deepEqual(await listed(store), ['t2', 't1']);
    });

    test('the newest status comes first', async ({ store }) => {
      await store.append(['t1', 't2', 't3'].map((id) => creation(id)));
      assert.deepEqual(await listed(store), ['t3', 't2', 't1']);
      await store.append([update('t1', 1, 'working')]);
      assert.deepEqual(await listed(store), ['t1', 't3', 't2']);
      await store.append([artifact('t2', 1)]);
      assert.deepEqual(await listed(store), ['t1', 't3', 't2'], 'an artifact is no new status');
      await store.append([update('t3', 1, 'submitted'), update('t2', 2, 'working')]);
      assert.deepEqual(await listed(store), ['t2', 't3', 't1']);
    });

    test('filters select by context, by state and by both', async ({ store }) => {
      await store.append([
        creation('t1'),
        creation('t2'),
        creation('t3', alice, 'c2'),
        creation('t4', alice, 'c2'),
        update('t1', 1, 'completed'),
        update('t3', 1, 'completed', undefined, alice, 'c2'),
      ]);
      assert.deepEqual(await listed(store, { contextId: 'c1' }), ['t1', 't2']);
      assert.deepEqual(await listed(store, { contextId: 'c2' }), ['t3', 't4']);
      assert.deepEqual(await listed(store, { contextId: 'c3' }), []);
      assert.deepEqual(await listed(store, { state: 'completed' }), ['t3', 't1']);
      assert.deepEqual(await listed(store, { state: 'submitted' }), ['t4', 't2']);
      assert.deepEqual(await listed(store, { state: 'failed' }), []);
      assert.deepEqual(await listed(store, { contextId: 'c2', state: 'submitted' }), ['t4']);
    });

    test('updatedSince selects what changed then or later', async ({ store }) => {
      await store.append([creation('t1')]);
      const first = await store.head(alice, 't1');
      assert.ok(first);
      // Until the store's clock has moved on: it counts milliseconds.
      let second: TaskHead | undefined;
      for (let seq = 1; !second || second.updatedAt === first.updatedAt; seq++) {
        if (seq === 1) await store.append([creation('t2')]);
        else await store.append([update('t2', seq - 1, 'working')]);
        second = await store.head(alice, 't2');
        assert.ok(second && seq < 1e6);
      }
      const between = { updatedSince: second.updatedAt };
      assert.deepEqual(await listed(store, { updatedSince: first.updatedAt }), ['t2', 't1']);
      assert.deepEqual(await listed(store, between), ['t2']);
      assert.deepEqual(await listed(store, { ...between, contextId: 'c1' }), ['t2']);
      const { state } = second.status;
      assert.deepEqual(await listed(store, { ...between, state }), ['t2']);
      assert.deepEqual(await listed(store, { ...between, state: 'failed' }), []);
      assert.deepEqual(await listed(store, { updatedSince: second.updatedAt + 1 }), []);
    });

    test('pages follow each other until the last, which has no cursor', async ({ store }) => {
      await store.append(range(1, 7).map((n) => creation(`t${n}`)));
      const pages: string[][] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ ...alice, limit: 3, cursor });
        assert.equal(page.total, 7);
        pages.push(ids(page.heads));
        cursor = page.next;
      } while (cursor !== undefined);
      assert.deepEqual(pages, [['t7', 't6', 't5'], ['t4', 't3', 't2'], ['t1']]);
      assert.equal((await store.list({ ...alice, limit: 7 })).next, undefined);
    });

    for (const filter of [{ state: 'working' }, { contextId: 'c1' }] as const) {
      test(`pages of ${Object.keys(filter).join()} have only what matches`, async ({ store }) => {
        for (const n of range(1, 9)) {
          const context = n % 2 === 0 ? 'c1' : 'c2';
          const state = n % 2 === 0 ? 'working' : 'completed';
          await store.append([
            creation(`t${n}`, alice, context),
            update(`t${n}`, 1, state, undefined, alice, context),
          ]);
        }
        const first = await store.list({ ...alice, ...filter, limit: 3 });
        const second = await store.list({ ...alice, ...filter, limit: 3, cursor: first.next });
        assert.deepEqual(ids(first.heads), ['t8', 't6', 't4']);
        assert.deepEqual(ids(second.heads), ['t2']);
        assert.equal(second.next, undefined);
        assert.equal(second.total, 4);
      });
    }

    test('a task that changes between two pages is not shown twice', async ({ store }) => {
      await store.append(range(1, 6).map((n) => creation(`t${n}`)));
      const first = await store.list({ ...alice, limit: 3 });
      assert.deepEqual(ids(first.heads), ['t6', 't5', 't4']);
      await store.append([update('t4', 1, 'working'), update('t6', 1, 'completed')]);
      const second = await store.list({ ...alice, limit: 3, cursor: first.next });
      assert.deepEqual(ids(second.heads), ['t3', 't2', 't1']);
    });

    test('a task that moved to the front is missing from the pages behind, and still counted', async ({
      store,
    }) => {
      await store.append(range(1, 4).map((n) => creation(`t${n}`)));
      const first = await store.list({ ...alice, limit: 2 });
      await store.append([update('t2', 1, 'working')]);
      const second = await store.list({ ...alice, limit: 2, cursor: first.next });
      assert.deepEqual(ids(second.heads), ['t1']);
      assert.equal(second.total, 4);
    });

    test('a page goes on when the task before it was deleted', async ({ store }) => {
      await store.append(range(1, 4).map((n) => creation(`t${n}`)));
      const first = await store.list({ ...alice, limit: 2 });
      await store.delete(alice, 't3');
      const second = await store.list({ ...alice, limit: 2, cursor: first.next });
      assert.deepEqual(ids(second.heads), ['t2', 't1']);
      assert.equal(second.total, 3);
    });

    test('totals follow every change', async ({ store }) => {
      const totals = async () => {
        const total = async (filter: Partial<ListQuery>) =>
          (await store.list({ ...alice, limit: 1, ...filter })).total;
        return [
          await total({}),
          await total({ state: 'submitted' }),
          await total({ state: 'completed' }),
          await total({ contextId: 'c1' }),
          await total({ contextId: 'c1', state: 'completed' }),
          await total({ updatedSince: 0 }),
        ];
      };
      await store.append([creation('t1'), creation('t2'), creation('t3', alice, 'c2')]);
      assert.deepEqual(await totals(), [3, 3, 0, 2, 0, 3]);
      await store.append([update('t1', 1, 'working'), update('t1', 2, 'completed')]);
      assert.deepEqual(await totals(), [3, 2, 1, 2, 1, 3]);
      await store.delete(alice, 't1');
      assert.deepEqual(await totals(), [2, 2, 0, 1, 0, 2]);
    });

    test('totals of a context that was listed before follow every change', async ({ store }) => {
      const total = async (filter: Partial<ListQuery>) =>
        (await store.list({ ...alice, contextId: 'c1', limit: 1, ...filter })).total;
      assert.equal(await total({}), 0);
      await store.append([creation('t1'), creation('t2'), creation('t3', alice, 'c2')]);
      assert.equal(await total({}), 2);
      await store.append([update('t1', 1, 'working'), update('t1', 2, 'completed')]);
      assert.equal(await total({}), 2);
      assert.equal(await total({ state: 'working' }), 0);
      assert.equal(await total({ state: 'completed' }), 1);
      await store.append([creation('t4', bob), update('t4', 1, 'failed', undefined, bob)]);
      assert.equal(await total({ state: 'failed' }), 0);
      assert.equal(await total({ ...bob, state: 'failed' }), 1);
      await store.delete(alice, 't1');
      assert.equal(await total({}), 1);
      assert.equal(await total({ state: 'completed' }), 0);
    });

    test('a page without a total is the same page', async ({ store }) => {
      await store.append(range(1, 5).map((n) => creation(`t${n}`)));
      await store.append([update('t2', 1, 'completed')]);
      for (const filter of [{}, { contextId: 'c1' }, { state: 'submitted' }, bob] as const) {
        const query = { ...alice, ...filter, limit: 3 };
        const { total, ...page } = await store.list(query);
        assert.equal(typeof total, 'number');
        const uncounted = await store.list({ ...query, total: false });
        assert.deepEqual({ ...uncounted, total }, { ...page, total });
        assert.equal(uncounted.total, undefined);
      }
    });

    test('a cursor that the store did not make is invalid', async ({ store }) => {
      await store.append(range(1, 3).map((n) => creation(`t${n}`)));
      const { next } = await store.list({ ...alice, limit: 1 });
      assert.ok(next);
      const changed = (next.startsWith('A') ? 'B' : 'A') + next.slice(1);
      const longer = next + 'AAAA';
      for (const cursor of ['', 'x', 'no cursor', changed, longer, `${next}=`, '9'.repeat(50)]) {
        await assert.rejects(async () => store.list({ ...alice, limit: 1, cursor }), invalid);
      }
      await assert.rejects(
        async () => store.list({ ...bob, limit: 1, cursor: next }),
        invalid,
        "one of another owner's",
      );
    });
  });
}

/** A list's task ids; its total must be their number. */
export async function listed(store: TaskStore, filter: Partial<ListQuery> = {}): Promise<string[]> {
  const { heads, total, next } = await store.list({ ...alice, limit: 100, ...filter });
  assert.equal(total, heads.length);
  assert.equal(next, undefined);
  return ids(heads);
}

function invalid(error: unknown): boolean {
  return error instanceof A2AError && error.kind === 'invalidParams';
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
