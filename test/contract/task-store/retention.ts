/** The part of the contract about the removal of old tasks. */
import assert from 'node:assert/strict';
import type { FinishedTask, StoreRetention, TaskStore } from 'parley-a2a/server';
import { alice, bob, creation, update, userSays, webhook } from './events.ts';
import type { Describe } from './suite.ts';

export function describeRetention(describe: Describe): void {
  describe('retention', (test) => {
    test('finished tasks of all scopes are listed in the order in which they ended', async ({
      store,
    }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      await store.append([creation('t1'), creation('t2', bob), creation('t3'), creation('t4')]);
      await store.append([update('t3', 1, 'failed')]);
      await store.append([update('t2', 1, 'completed', undefined, bob)]);
      await store.append([update('t1', 1, 'input-required')]);
      const before = Date.now() - 60_000;
      const [first, second, ...others] = await retention.finished({ limit: 10 });
      assert.deepEqual(others, []);
      assert.ok(first && second);
      const { endedAt, position, ...rest } = first;
      assert.deepEqual(rest, { ...alice, taskId: 't3', contextId: 'c1', isDue: false });
      assert.ok(endedAt > before && endedAt < before + 120_000);
      assert.deepEqual({ tenant: second.tenant, owner: second.owner }, bob);
      assert.ok(second.position > position);
      const next = await retention.finished({ after: position, limit: 10 });
      assert.deepEqual(next, [second]);
      assert.deepEqual(await retention.finished({ limit: 1 }), [first]);
    });

    test('a task that its session keeps is listed only if the query asks for such tasks', async ({
      store,
      reopen,
    }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      const kept = Number.MAX_SAFE_INTEGER;
      await store.append([
        { ...creation('t1'), expiresAt: kept },
        { ...creation('t2'), expiresAt: kept - 1 },
        creation('t3'),
      ]);
      await store.append(['t1', 't2', 't3'].map((id) => update(id, 1, 'completed')));
      const again = retentionOf((await reopen?.()) ?? store);
      const idsOf = (found: readonly FinishedTask[] = []) => found.map(({ taskId }) => taskId);
      assert.deepEqual(idsOf(await again?.finished({ limit: 10 })), ['t2', 't3']);
      const [first, ...others] = (await again?.finished({ kept: true, limit: 10 })) ?? [];
      assert.partialDeepStrictEqual(first, { ...alice, taskId: 't1', contextId: 'c1' });
      assert.deepEqual(others, []);
      const after = first?.position;
      assert.deepEqual(await again?.finished({ kept: true, after, limit: 10 }), []);
    });

    test('a removed task leaves nothing behind, and the others are as they were', async ({
      store,
    }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }, creation('t2')]);
      await store.savePush(webhook('t1', 'p1'));
      await store.append([update('t1', 1, 'completed'), update('t2', 1, 'completed')]);
      assert.equal(await retention.remove(await retention.finished({ limit: 1 })), 1);
      assert.equal(await store.head(alice, 't1'), undefined);
      assert.deepEqual(await store.read('t1', 0, 10), []);
      assert.equal(await store.findMessage(alice, 'm1'), undefined);
      assert.deepEqual(await store.listPush('t1'), []);
      assert.equal((await store.list({ ...alice, limit: 10 })).total, 1);
      assert.equal((await store.read('t2', 0, 10)).length, 2);
      assert.deepEqual(await store.append([{ ...creation('t1'), messageIds: ['m1'] }]), ['ok']);
    });

    test('a task that continues meanwhile is not removed', async ({ store }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      await store.append([creation('t1'), update('t1', 1, 'completed')]);
      const found = await retention.finished({ limit: 10 });
      await store.append([update('t1', 2, 'working', userSays('and now?'))]);
      assert.equal(await retention.remove(found), 1);
      assert.equal((await store.head(alice, 't1'))?.status.state, 'working');
      assert.deepEqual(await retention.finished({ limit: 10 }), []);
    });

    test('a task is due until its webhooks have got all events', async ({ store }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      await store.append([creation('t1')]);
      await store.savePush(webhook('t1', 'p1'));
      await store.append([update('t1', 1, 'completed')]);
      const isDue = async () => (await retention.finished({ limit: 1 }))[0]?.isDue;
      assert.equal(await isDue(), true);
      const progress = { cursor: 2, attempts: 0 };
      await store.savePushProgress([{ taskId: 't1', configId: 'p1', progress }]);
      assert.equal(await isDue(), false);
    });

    test('a task with many entries is removed in several steps, and is not found after the first one', async ({
      store,
    }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      const batch = [{ ...creation('t1'), messageIds: ['m1'] }];
      const length = 12_000;
      for (let seq = 1; seq < length - 1; seq++)
        batch.push({ ...update('t1', seq, 'working'), messageIds: [] });
      await store.append([...batch, update('t1', length - 1, 'completed'), creation('t2')]);
      let rest: readonly FinishedTask[] = await retention.finished({ limit: 10 });
      for (let steps = 0; rest.length > 0; steps++) {
        assert.ok(steps < 100, 'every step removes something');
        rest = rest.slice(await retention.remove(rest));
        assert.equal(await store.head(alice, 't1'), undefined);
        assert.equal(await store.findMessage(alice, 'm1'), undefined);
      }
      assert.deepEqual(await retention.finished({ limit: 10 }), []);
      assert.deepEqual(await store.read('t1', 0, 10), []);
      assert.equal((await store.list({ ...alice, limit: 10 })).total, 1);
      assert.deepEqual(await store.append([creation('t1')]), ['ok']);
    });

    test('the size is that of the data', async ({ store }) => {
      const retention = retentionOf(store);
      if (!retention) return;
      const before = await retention.size();
      const text = 'x'.repeat(100_000);
      await store.append([
        { ...creation('t1'), bytes: 1000 },
        { ...update('t1', 1, 'completed', userSays(text)), bytes: text.length },
      ]);
      const after = await retention.size();
      assert.ok(after > before + 90_000 && after < before + 200_000);
      await retention.remove(await retention.finished({ limit: 1 }));
      assert.ok((await retention.size()) < before + 10_000);
      while (await retention.reclaim());
    });
  });
}

/** A store that removes old tasks itself has no `retention`. */
function retentionOf({ retention }: TaskStore): StoreRetention | undefined {
  return retention;
}
