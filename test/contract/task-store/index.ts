/**
 * The contract of a task store: what every implementation of `TaskStore` must do.
 *
 * Published as `parley-a2a/store/contract`, so that authors of a store can run it. Our own stores run the same cases.
 */
import assert from 'node:assert/strict';
import type { LogEntry, TaskState } from 'parley-a2a/protocol';
import type { TaskStore } from 'parley-a2a/server';
import {
  agentSays,
  alice,
  aliceElsewhere,
  artifact,
  artifactEvent,
  bob,
  creation,
  ids,
  statusEvent,
  taskEvent,
  update,
  userSays,
  webhook,
} from './events.ts';
import { describeExpiry } from './expiry.ts';
import { describeLists, listed } from './lists.ts';
import { describePush } from './push.ts';
import { describeRetention } from './retention.ts';
import { collect, type ContractCase, type Describe, type OpenedStore } from './suite.ts';

export type { ContractCase, OpenedStore } from './suite.ts';

/**
 * The cases that a task store must pass, for any test runner. Each case opens a new, empty store.
 *
 *   for (const { name, run } of taskStoreContract(open)) test(name, run);
 */
export function taskStoreContract(open: () => Promise<OpenedStore>): ContractCase[] {
  return collect(open, (describe) => {
    describeLog(describe);
    describeMessages(describe);
    describeExpiry(describe);
    describeLists(describe);
    describePush(describe);
    describeRetention(describe);
    describeLifetime(describe);
  });
}

function describeLog(describe: Describe): void {
  describe('appending', (test) => {
    test('a new task has the head that its first entry says', async ({ store }) => {
      const before = Date.now();
      assert.deepEqual(await store.append([creation('t1')]), ['ok']);
      const head = await store.head(alice, 't1');
      assert.ok(head);
      const { createdAt, updatedAt, bytes: _, ...rest } = head;
      assert.deepEqual(rest, {
        ...alice,
        taskId: 't1',
        contextId: 'c1',
        seq: 1,
        status: { state: 'submitted' },
        expiresAt: undefined,
      });
      assert.equal(updatedAt, createdAt);
      assert.ok(createdAt >= before - 60_000 && createdAt <= Date.now() + 60_000);
    });

    test('an append at the right version is taken', async ({ store }) => {
      await store.append([creation('t1')]);
      assert.deepEqual(await store.append([update('t1', 1, 'working')]), ['ok']);
      const head = await store.head(alice, 't1');
      assert.equal(head?.seq, 2);
      assert.equal(head.status.state, 'working');
    });

    for (const [wrong, expected] of [
      ['behind', 1],
      ['ahead of', 3],
    ] as const) {
      test(`an append that is ${wrong} the task is a conflict and writes nothing`, async ({
        store,
      }) => {
        await store.append([creation('t1'), update('t1', 1, 'working')]);
        const before = await store.head(alice, 't1');
        const late = { ...update('t1', expected, 'completed'), messageIds: ['m9'] };
        assert.deepEqual(await store.append([late]), ['conflict']);
        assert.deepEqual(await store.head(alice, 't1'), before);
        assert.equal((await entriesOf(store, 't1')).length, 2);
        assert.equal(await store.findMessage(alice, 'm9'), undefined);
      });
    }

    test('a task is created only once', async ({ store }) => {
      await store.append([creation('t1')]);
      assert.deepEqual(await store.append([creation('t1')]), ['conflict']);
      assert.equal((await entriesOf(store, 't1')).length, 1);
    });

    test('an append to a task that does not exist is a conflict', async ({ store }) => {
      assert.deepEqual(await store.append([update('t1', 1, 'working')]), ['conflict']);
      assert.equal(await store.head(alice, 't1'), undefined);
      assert.deepEqual(await entriesOf(store, 't1'), []);
    });

    test('two appends of one batch to one task build on each other', async ({ store }) => {
      const batch = [creation('t1'), update('t1', 1, 'working'), update('t1', 2, 'completed')];
      assert.deepEqual(await store.append(batch), ['ok', 'ok', 'ok']);
      const head = await store.head(alice, 't1');
      assert.equal(head?.seq, 3);
      assert.equal(head.status.state, 'completed');
      const { total } = await store.list({ ...alice, state: 'completed', limit: 10 });
      assert.equal(total, 1);
    });

    test('a conflict does not spoil its neighbours in the batch', async ({ store }) => {
      await store.append([creation('t1'), creation('t2')]);
      const outcomes = await store.append([
        update('t1', 1, 'working'),
        update('t2', 5, 'failed'),
        creation('t3'),
        creation('t1'),
        update('t1', 2, 'completed'),
      ]);
      assert.deepEqual(outcomes, ['ok', 'conflict', 'ok', 'conflict', 'ok']);
      assert.equal((await store.head(alice, 't1'))?.seq, 3);
      assert.equal((await store.head(alice, 't2'))?.status.state, 'submitted');
      assert.equal((await store.head(alice, 't3'))?.seq, 1);
    });

    test('what builds on a conflict in the same batch is a conflict too', async ({ store }) => {
      await store.append([creation('t1')]);
      const outcomes = await store.append([update('t1', 2, 'working'), update('t1', 3, 'failed')]);
      assert.deepEqual(outcomes, ['conflict', 'conflict']);
    });

    test('an empty batch is nothing', async ({ store }) => {
      assert.deepEqual(await store.append([]), []);
    });

    for (const [what, append] of [
      ['has a gap', { ...update('t2', 1, 'working'), entries: [entry(3, 'working')] }],
      ['is empty', { ...update('t2', 1, 'working'), entries: [] }],
      ['begins without its task', { ...creation('t4'), entries: [entry(1, 'working')] }],
    ] as const) {
      test(`a batch with an append that ${what} is refused as a whole`, async ({ store }) => {
        await store.append([creation('t2')]);
        await assert.rejects(async () => store.append([creation('t1'), append]));
        assert.equal(await store.head(alice, 't1'), undefined);
        assert.deepEqual(await store.append([creation('t1')]), ['ok']);
      });
    }
  });

  describe('reading', (test) => {
    test('entries come back as they were, in order and without a gap', async ({ store }) => {
      const log: LogEntry[] = [
        { seq: 1, event: taskEvent('t1', 'c1', 'submitted', [userSays('hällo 👋 \u0000 "x"')]) },
        { seq: 2, event: artifactEvent('t1', 'c1', 'a piece') },
        { seq: 3, event: statusEvent('t1', 'c1', 'completed', agentSays('done')) },
      ];
      const where = { ...alice, taskId: 't1', contextId: 'c1' };
      await store.append([
        { ...where, expected: 0, entries: log.slice(0, 2) },
        { ...where, expected: 2, entries: log.slice(2) },
      ]);
      assert.deepEqual(await entriesOf(store, 't1'), log);
    });

    test('texts with any characters stay apart, in several entries of several tasks', async ({
      store,
    }) => {
      const texts = ['\u001e\u001f', 'a\nb\r', '"\\"{}', '\uffff\uffff\u2028', '', 'NULL'];
      const names = ['t1', 't2', 't3'];
      const logs = names.map((name, at) => [
        { seq: 1, event: taskEvent(name, 'c1', 'submitted', [userSays(texts[at] ?? '')]) },
        ...texts.map((text, n) => ({ seq: n + 2, event: artifactEvent(name, 'c1', text) })),
      ]);
      const batch = names.map((taskId, at) => {
        return { ...alice, taskId, contextId: 'c1', expected: 0, entries: logs[at]! };
      });
      assert.deepEqual(await store.append(batch), ['ok', 'ok', 'ok']);
      for (const [at, name] of names.entries()) {
        assert.deepEqual(await entriesOf(store, name), logs[at]);
      }
    });

    test('reading begins after the cursor and stops at the limit', async ({ store }) => {
      await store.append([creation('t1')]);
      for (let seq = 1; seq < 10; seq++) await store.append([update('t1', seq, 'working')]);
      const seqs = async (after: number, limit: number) =>
        (await store.read('t1', after, limit)).map((entry) => entry.seq);
      assert.deepEqual(await seqs(0, 3), [1, 2, 3]);
      assert.deepEqual(await seqs(3, 3), [4, 5, 6]);
      assert.deepEqual(await seqs(8, 100), [9, 10]);
      assert.deepEqual(await seqs(10, 100), []);
      assert.deepEqual(await seqs(99, 100), []);
      assert.equal((await seqs(0, Infinity)).length, 10);
    });

    test('a task that does not exist has no entries', async ({ store }) => {
      assert.deepEqual(await store.read('t1', 0, 10), []);
    });
  });

  describe('heads', (test) => {
    test('an artifact changes the version of a task and not its status', async ({ store }) => {
      await store.append([creation('t1')]);
      const before = await store.head(alice, 't1');
      assert.ok(before);
      await store.append([artifact('t1', 1)]);
      assert.deepEqual(await store.head(alice, 't1'), { ...before, seq: 2 });
    });

    test('the head is the one of the moment, and does not change afterwards', async ({ store }) => {
      await store.append([creation('t1')]);
      const before = await store.head(alice, 't1');
      const copy = structuredClone(before);
      await store.append([update('t1', 1, 'completed')]);
      assert.deepEqual(before, copy);
    });

    test("the status carries the agent's message, and not the user's", async ({ store }) => {
      await store.append([creation('t1'), update('t1', 1, 'input-required', agentSays('which?'))]);
      const asked = await store.head(alice, 't1');
      assert.deepEqual(asked?.status, { state: 'input-required', message: agentSays('which?') });
      await store.append([update('t1', 2, 'working', userSays('this one'))]);
      assert.deepEqual((await store.head(alice, 't1'))?.status, { state: 'working' });
    });

    test('what the fold refuses is in the log and leaves the status as it is', async ({
      store,
    }) => {
      await store.append([creation('t1'), update('t1', 1, 'failed'), update('t1', 2, 'working')]);
      const head = await store.head(alice, 't1');
      assert.equal(head?.seq, 3);
      assert.equal(head.status.state, 'failed');
    });

    test('a new turn reopens a completed task', async ({ store }) => {
      await store.append([creation('t1'), update('t1', 1, 'completed')]);
      await store.append([update('t1', 2, 'working', userSays('and now?'))]);
      assert.equal((await store.head(alice, 't1'))?.status.state, 'working');
      assert.deepEqual(ids(await store.unfinished()), ['t1']);
    });
  });

  describe('scopes', (test) => {
    for (const [who, other] of [
      ['another owner', bob],
      ['the same owner in another tenant', aliceElsewhere],
      ['a scope whose names run together alike', { tenant: 'acmea', owner: 'lice' }],
    ] as const) {
      test(`the tasks of ${who} do not exist`, async ({ store }) => {
        await store.append([
          { ...creation('t1'), messageIds: ['m1'] },
          creation('t2', { ...other }),
        ]);
        assert.equal(await store.head(other, 't1'), undefined);
        assert.equal(await store.findMessage(other, 'm1'), undefined);
        assert.deepEqual(ids((await store.list({ ...other, limit: 10 })).heads), ['t2']);
        assert.equal((await store.list({ ...other, limit: 10 })).total, 1);
        assert.equal((await store.list({ ...other, contextId: 'c1', limit: 10 })).total, 1);
        assert.equal(await store.delete(other, 't1'), false);
        assert.deepEqual(await store.append([update('t1', 1, 'failed', undefined, other)]), [
          'conflict',
        ]);
        assert.deepEqual(await store.append([creation('t1', other)]), ['conflict']);
        assert.equal((await store.head(alice, 't1'))?.status.state, 'submitted');
      });
    }

    test('a scope without tasks has an empty list', async ({ store }) => {
      assert.deepEqual(await store.list({ ...alice, limit: 10 }), { heads: [], total: 0 });
    });
  });
}

function describeMessages(describe: Describe): void {
  describe('messages', (test) => {
    test('a message finds the task that accepted it', async ({ store }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }, creation('t2')]);
      await store.append([{ ...update('t2', 1, 'working'), messageIds: ['m2', 'm3'] }]);
      assert.equal(await store.findMessage(alice, 'm1'), 't1');
      assert.equal(await store.findMessage(alice, 'm2'), 't2');
      assert.equal(await store.findMessage(alice, 'm3'), 't2');
      assert.equal(await store.findMessage(alice, 'm4'), undefined);
    });

    test('a message id that is taken is a conflict, and nothing is written', async ({ store }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }]);
      const outcomes = await store.append([
        { ...creation('t2'), messageIds: ['m2', 'm1'] },
        { ...update('t1', 1, 'working'), messageIds: ['m1'] },
      ]);
      assert.deepEqual(outcomes, ['conflict', 'conflict']);
      assert.equal(await store.head(alice, 't2'), undefined);
      assert.equal(await store.findMessage(alice, 'm2'), undefined);
      assert.equal((await store.list({ ...alice, limit: 10 })).total, 1);
      assert.equal((await store.head(alice, 't1'))?.seq, 1);
    });

    test('of two appends of a batch with one message id, the first is taken', async ({ store }) => {
      const messageIds = ['m1'];
      const batch = [
        { ...creation('t1'), messageIds },
        { ...creation('t2'), messageIds },
      ];
      assert.deepEqual(await store.append(batch), ['ok', 'conflict']);
      assert.equal(await store.findMessage(alice, 'm1'), 't1');
    });

    test('two owners may use the same message id', async ({ store }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }]);
      const outcomes = await store.append([{ ...creation('t2', bob), messageIds: ['m1'] }]);
      assert.deepEqual(outcomes, ['ok']);
      assert.equal(await store.findMessage(alice, 'm1'), 't1');
      assert.equal(await store.findMessage(bob, 'm1'), 't2');
    });
  });
}

function describeLifetime(describe: Describe): void {
  describe('recovery and deletion', (test) => {
    test('unfinished are the tasks of every scope that are submitted or working', async ({
      store,
    }) => {
      const states: TaskState[] = [
        'submitted',
        'working',
        'input-required',
        'auth-required',
        'completed',
        'canceled',
        'failed',
        'rejected',
      ];
      for (const state of states) {
        await store.append([
          creation(state, state === 'working' ? bob : alice),
          update(state, 1, state, undefined, state === 'working' ? bob : alice),
        ]);
      }
      const found = await store.unfinished();
      assert.deepEqual(ids(found).toSorted(), ['submitted', 'working']);
      for (const head of found) assert.deepEqual(head, await store.head(head, head.taskId));
    });

    test('a deleted task is gone with its log, its messages and its webhooks', async ({
      store,
    }) => {
      await store.append([
        { ...creation('t1'), messageIds: ['m1'] },
        { ...update('t1', 1, 'working'), messageIds: ['m2', 'm3'] },
        { ...creation('t2'), messageIds: ['m4'] },
      ]);
      await store.savePush(webhook('t1', 'w1'));
      assert.equal(await store.delete(alice, 't1'), true);
      assert.equal(await store.delete(alice, 't1'), false);
      assert.equal(await store.head(alice, 't1'), undefined);
      assert.deepEqual(await store.read('t1', 0, 10), []);
      for (const id of ['m1', 'm2', 'm3'])
        assert.equal(await store.findMessage(alice, id), undefined);
      assert.deepEqual(await store.listPush('t1'), []);
      assert.deepEqual(await listed(store), ['t2']);
      assert.equal(await store.findMessage(alice, 'm4'), 't2');
      assert.deepEqual(await store.append([update('t1', 2, 'completed')]), ['conflict']);
    });

    test('a task that was found as finished is deleted only if it has not continued since', async ({
      store,
    }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }, update('t1', 1, 'completed')]);
      assert.equal(await store.delete(alice, 't1', 1), false);
      assert.equal(await store.delete(bob, 't1', 2), false);
      await store.append([update('t1', 2, 'working', userSays('and now?'))]);
      assert.equal(await store.delete(alice, 't1', 2), false);
      assert.equal(await store.delete(alice, 't1', 3), false);
      assert.equal((await store.head(alice, 't1'))?.status.state, 'working');
      assert.equal(await store.findMessage(alice, 'm1'), 't1');
      await store.append([update('t1', 3, 'failed')]);
      assert.equal(await store.delete(alice, 't1', 4), true);
      assert.equal(await store.head(alice, 't1'), undefined);
      assert.equal(await store.delete(alice, 't1', 4), false);
    });

    test('the id of a deleted task, and its messages, can be used again', async ({ store }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1'] }, update('t1', 1, 'failed')]);
      await store.delete(alice, 't1');
      assert.deepEqual(await store.append([{ ...creation('t1'), messageIds: ['m1'] }]), ['ok']);
      assert.equal((await entriesOf(store, 't1')).length, 1);
      assert.deepEqual(await store.listPush('t1'), []);
    });

    test('a message of a deleted task leads to no task that is created later', async ({
      store,
    }) => {
      await store.append([{ ...creation('t1'), messageIds: ['m1', 'm2'] }]);
      await store.delete(alice, 't1');
      await store.append([{ ...creation('t2'), messageIds: ['m3'] }]);
      assert.equal(await store.findMessage(alice, 'm1'), undefined);
      assert.deepEqual(await store.append([{ ...creation('t3'), messageIds: ['m2'] }]), ['ok']);
      assert.equal(await store.findMessage(alice, 'm2'), 't3');
      assert.equal(await store.findMessage(alice, 'm3'), 't2');
    });

    test('a store may be closed twice', async ({ store }) => {
      await store.close();
      await store.close();
    });

    test('after a restart everything is still there', async ({ store, reopen }) => {
      assert.equal(store.durable, reopen !== undefined);
      if (!reopen) return;
      await store.append([
        { ...creation('t1'), messageIds: ['m1'] },
        artifact('t1', 1),
        creation('t2'),
        creation('t3', bob),
        update('t1', 2, 'working', agentSays('on it')),
      ]);
      await store.savePush(webhook('t1', 'b'));
      await store.savePush(webhook('t1', 'a'));
      await store.delete(bob, 't3');
      const look = async (store: TaskStore) => ({
        heads: [await store.head(alice, 't1'), await store.head(alice, 't2')],
        gone: await store.head(bob, 't3'),
        log: await entriesOf(store, 't1'),
        message: await store.findMessage(alice, 'm1'),
        push: await store.listPush('t1'),
        unfinished: (await store.unfinished()).map(({ taskId }) => taskId).toSorted(),
        list: await store.list({ ...alice, limit: 10 }),
        working: await store.list({ ...alice, limit: 10, state: 'working' }),
        context: await store.list({ ...alice, limit: 10, contextId: 'c1' }),
      });
      const before = await look(store);
      const { next } = await store.list({ ...alice, limit: 1 });
      const again = await reopen();
      assert.deepEqual(await look(again), before);
      const rest = await again.list({ ...alice, limit: 1, cursor: next });
      assert.deepEqual(ids(rest.heads), ['t2'], 'a cursor from before leads on');
      assert.deepEqual(await again.append([update('t1', 2, 'failed')]), ['conflict']);
      assert.deepEqual(await again.append([update('t1', 3, 'completed')]), ['ok']);
      assert.deepEqual(await listed(again), ['t1', 't2']);
    });
  });
}

function entry(seq: number, state: TaskState): LogEntry {
  return { seq, event: statusEvent('t2', 'c1', state) };
}

/** The log, without what a store may add to an entry. */
async function entriesOf(store: TaskStore, taskId: string): Promise<LogEntry[]> {
  return (await store.read(taskId, 0, 1000)).map(({ seq, event }) => ({ seq, event }));
}
