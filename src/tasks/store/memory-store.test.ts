import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskState } from '../../protocol/index.ts';
import { memoryStore } from './memory-store.ts';
import type { Append } from './store.ts';

const scope = { tenant: '', owner: 'alice' };

function creation(taskId: string, state: TaskState, messageId = taskId): Append {
  const event = { kind: 'task' as const, id: taskId, contextId: 'c', status: { state } };
  const entries = [{ seq: 1, event }];
  return { ...scope, taskId, contextId: 'c', expected: 0, entries, messageIds: [messageId] };
}

test('an append answers at once, without a promise', () => {
  assert.deepEqual(memoryStore().append([creation('t1', 'working')]), ['ok']);
});

test('beyond its number of tasks, the one that finished first makes room', () => {
  const store = memoryStore({ maxTasks: 3 });
  store.append([creation('t1', 'working'), creation('t2', 'completed'), creation('t3', 'failed')]);
  store.append([creation('t4', 'working')]);
  assert.equal(store.head(scope, 't2'), undefined);
  assert.equal(store.findMessage(scope, 't2'), undefined);
  assert.deepEqual(store.read('t2', 0, 10), []);
  const { heads, total } = store.list({ ...scope, limit: 10 });
  assert.deepEqual(
    heads.map(({ taskId }) => taskId),
    ['t4', 't3', 't1'],
  );
  assert.equal(total, 3);
});

test('where tasks that are not finished fill the store, a new one is refused', () => {
  const store = memoryStore({ maxTasks: 3 });
  const states: TaskState[] = ['working', 'input-required', 'auth-required'];
  assert.deepEqual(store.append([creation('t0', 'completed')]), ['ok']);
  assert.deepEqual(store.append(states.map((state) => creation(state, state))), ['ok', 'ok', 'ok']);
  assert.equal(store.head(scope, 't0'), undefined);
  assert.deepEqual(store.append([creation('t1', 'submitted')]), ['full']);
  assert.equal(store.findMessage(scope, 't1'), undefined);
  assert.equal(store.list({ ...scope, limit: 10 }).total, 3);
  const event = {
    kind: 'status-update' as const,
    taskId: 'working',
    contextId: 'c',
    status: { state: 'completed' as const },
    final: true,
  };
  const end = { ...scope, taskId: 'working', contextId: 'c', expected: 1 };
  store.append([{ ...end, entries: [{ seq: 2, event }] }]);
  assert.deepEqual(store.append([creation('t1', 'submitted')]), ['ok']);
});

test('the same holds for bytes, and a refusal costs no finished task', () => {
  const store = memoryStore({ maxBytes: 100 });
  store.append([{ ...creation('works', 'working'), bytes: 60 }]);
  store.append([{ ...creation('done', 'completed'), bytes: 30 }]);
  assert.deepEqual(store.append([{ ...creation('large', 'working'), bytes: 50 }]), ['full']);
  assert.ok(store.head(scope, 'done'));
  assert.deepEqual(store.append([{ ...creation('small', 'working'), bytes: 40 }]), ['ok']);
  assert.equal(store.head(scope, 'done'), undefined);
});

test('the task that was just written is not the one that makes room', () => {
  const store = memoryStore({ maxBytes: 100 });
  store.append([{ ...creation('works', 'working'), bytes: 60 }]);
  const event = {
    kind: 'status-update' as const,
    taskId: 'works',
    contextId: 'c',
    status: { state: 'completed' as const },
    final: true,
  };
  const end = { ...scope, taskId: 'works', contextId: 'c', expected: 1 };
  store.append([{ ...end, entries: [{ seq: 2, event }], bytes: 60 }]);
  assert.ok(store.head(scope, 'works'));
  store.append([{ ...creation('next', 'working'), bytes: 10 }]);
  assert.equal(store.head(scope, 'works'), undefined);
});

test('the time of a change never goes back, even if the clock does', () => {
  let now = 5000;
  const store = memoryStore({ now: () => now });
  store.append([creation('t1', 'working')]);
  now = 1000;
  store.append([creation('t2', 'working')]);
  assert.equal(store.head(scope, 't2')?.updatedAt, 5000);
  const { heads } = store.list({ ...scope, limit: 10 });
  assert.equal(heads[0]?.taskId, 't2');
});

test('a page costs the same among many tasks as among few', () => {
  const store = memoryStore();
  const fastest = () => {
    let best = Infinity;
    for (let run = 0; run < 50; run++) {
      const start = performance.now();
      store.list({ ...scope, limit: 50 });
      store.list({ ...scope, limit: 50, state: 'failed' });
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  const fill = (to: number) => {
    for (let n = store.list({ ...scope, limit: 1 }).total ?? 0; n < to; n++) {
      store.append([creation(`t${n}`, 'completed')]);
    }
  };
  fill(1000);
  const few = fastest();
  fill(50_000);
  const many = fastest();
  // Fifty times as many: a walk over all of them would show.
  assert.ok(many < few * 10 + 0.05, `${few} ms among 1,000 tasks, ${many} ms among 50,000`);
});

test('beyond its bytes, a store forgets the task that finished first, and none that is not finished', () => {
  const store = memoryStore({ maxBytes: 100 });
  const scope = { tenant: '', owner: '' };
  const add = (taskId: string, state: 'working' | 'completed') => {
    const event = { kind: 'task' as const, id: taskId, contextId: 'c', status: { state } };
    const entries = [{ seq: 1, event }];
    store.append([{ ...scope, taskId, contextId: 'c', expected: 0, entries, bytes: 40 }]);
  };
  add('works', 'working');
  add('first', 'completed');
  add('second', 'completed');
  assert.equal(store.head(scope, 'first'), undefined);
  assert.ok(store.head(scope, 'second'));
  assert.ok(store.head(scope, 'works'));
});
