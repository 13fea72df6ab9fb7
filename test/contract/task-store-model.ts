/** Random calls against a real store and a simple model. Both must give the same results. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  fold,
  refusal,
  type LogEntry,
  type TaskEvent,
  type TaskState,
} from '../../src/protocol/index.ts';
import type { Append, ListQuery, Scope, TaskStore } from '../../src/tasks/store/store.ts';
import { agentSays, artifactEvent, statusEvent, taskEvent, userSays } from './task-store/events.ts';

const STATES: TaskState[] = ['submitted', 'working', 'input-required', 'completed', 'failed'];
const RUNS = process.env['PARLEY_TEST_LONG'] ? 2000 : 80;

interface Write {
  readonly owner: number;
  readonly task: number;
  readonly context: number;
  /** How far `expected` is off: 0 is right. */
  readonly off: number;
  readonly message: number | undefined;
  readonly expiresAt: number | undefined;
  readonly events: readonly ('artifact' | readonly [TaskState, 'user' | 'agent' | undefined])[];
}

type Call =
  | { readonly call: 'append'; readonly writes: readonly Write[] }
  | { readonly call: 'delete'; readonly owner: number; readonly task: number }
  | {
      readonly call: 'expiry';
      readonly owner: number;
      readonly task: number;
      readonly at: number | undefined;
    }
  | {
      readonly call: 'list';
      readonly owner: number;
      readonly state: TaskState | undefined;
      readonly context: number | undefined;
      readonly limit: number;
      readonly more: boolean;
    };

const owner = fc.nat({ max: 1 });
const task = fc.nat({ max: 5 });
const context = fc.nat({ max: 1 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const write: fc.Arbitrary<Write> = fc.record({
  owner,
  task,
  context,
  off: fc.oneof(
    { weight: 8, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -1, max: 1 }) },
  ),
  message: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.nat({ max: 20 }) },
  ),
  expiresAt: maybe(fc.nat({ max: 9 })),
  events: fc.array(
    fc.oneof(
      fc.constant('artifact' as const),
      fc.tuple(fc.constantFrom(...STATES), maybe(fc.constantFrom('user', 'agent'))),
    ),
    { minLength: 1, maxLength: 3 },
  ),
});

const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      call: fc.constant('append' as const),
      writes: fc.array(write, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      call: fc.constant('list' as const),
      owner,
      state: maybe(fc.constantFrom(...STATES)),
      context: maybe(context),
      limit: fc.integer({ min: 1, max: 4 }),
      more: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('delete' as const), owner, task }) },
  {
    weight: 1,
    arbitrary: fc.record({
      call: fc.constant('expiry' as const),
      owner,
      task,
      at: maybe(fc.nat({ max: 9 })),
    }),
  },
);

/** Runs random calls against the store and the model, and compares all that can be seen. */
export async function checkAgainstModel(store: TaskStore): Promise<void> {
  await fc.assert(
    // Each run has a tenant of its own, so that one store serves all.
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 40 }), (calls) =>
      run(store, calls, randomUUID()),
    ),
    { numRuns: RUNS },
  );
}

interface ModelTask extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  readonly log: LogEntry[];
  readonly messageIds: string[];
  /** Number of the change that gave it its status. */
  changed: number;
  expiresAt: number | undefined;
}

async function run(store: TaskStore, calls: readonly Call[], tenant: string): Promise<void> {
  const tasks = new Map<string, ModelTask>();
  const scopes = [0, 1].map((number) => ({ tenant, owner: `owner ${number}` }));
  let changes = 0;
  /** The list that `more` goes on with. */
  let open: { query: ListQuery; before: number } | undefined;

  function owned(scope: Scope): ModelTask[] {
    return [...tasks.values()].filter((task) => task.owner === scope.owner);
  }

  /** What the model says to an append, and the append. */
  function apply(one: Write): { append: Append; outcome: 'ok' | 'conflict' } {
    const scope = scopes[one.owner]!;
    const taskId = `${tenant} ${one.task}`;
    const known = tasks.get(taskId);
    const contextId = known?.contextId ?? `context ${one.context}`;
    const expected = Math.max(0, (known?.log.length ?? 0) + one.off);
    const events: TaskEvent[] = one.events.map((event) => {
      if (event === 'artifact') return artifactEvent(taskId, contextId, 'text');
      const [state, role] = event;
      const message = role && (role === 'user' ? userSays('please') : agentSays('well'));
      return statusEvent(taskId, contextId, state, message);
    });
    if (expected === 0) events.unshift(taskEvent(taskId, contextId, 'submitted'));
    const entries = events.map((event, at) => ({ seq: expected + at + 1, event }));
    const messageIds = one.message === undefined ? [] : [`message ${one.message}`];
    const { expiresAt } = one;
    const append: Append = {
      ...scope,
      taskId,
      contextId,
      expected,
      entries,
      messageIds,
      expiresAt,
    };

    const atVersion = (known?.log.length ?? 0) === expected;
    const mine = !known || known.owner === scope.owner;
    const taken = owned(scope).some((task) =>
      task.messageIds.some((id) => messageIds.includes(id)),
    );
    if (!atVersion || !mine || taken) return { append, outcome: 'conflict' };
    const created = { ...scope, taskId, contextId, log: [], messageIds: [], changed: 0, expiresAt };
    const task = known ?? created;
    tasks.set(taskId, task);
    for (const entry of entries) {
      const state = fold(task.log.map(({ event }) => event))?.status.state;
      const accepted = refusal(state, entry.event) === undefined;
      if (accepted && entry.event.kind !== 'artifact-update') task.changed = ++changes;
      task.log.push(entry);
    }
    task.messageIds.push(...messageIds);
    return { append, outcome: 'ok' };
  }

  function matching({ owner, state, contextId }: ListQuery): ModelTask[] {
    return [...tasks.values()]
      .filter((task) => task.owner === owner)
      .filter((task) => contextId === undefined || task.contextId === contextId)
      .filter((task) => state === undefined || statusOf(task).state === state)
      .toSorted((a, b) => b.changed - a.changed);
  }

  async function list(query: ListQuery, before: number): Promise<void> {
    const page = await store.list(query);
    const all = matching(query);
    const rest = all.filter((task) => task.changed < before);
    const shown = rest.slice(0, query.limit);
    assert.deepEqual(
      page.heads.map(({ taskId }) => taskId),
      shown.map(({ taskId }) => taskId),
    );
    assert.equal(page.total, all.length);
    assert.equal(page.next !== undefined, rest.length > shown.length);
    const last = shown.at(-1);
    open =
      page.next === undefined || !last
        ? undefined
        : { query: { ...query, cursor: page.next }, before: last.changed };
  }

  for (const each of calls) {
    if (each.call === 'append') {
      const expected = each.writes.map(apply);
      assert.deepEqual(
        await store.append(expected.map(({ append }) => append)),
        expected.map(({ outcome }) => outcome),
      );
    } else if (each.call === 'delete') {
      const scope = scopes[each.owner]!;
      const taskId = `${tenant} ${each.task}`;
      const there = tasks.get(taskId)?.owner === scope.owner;
      if (there) tasks.delete(taskId);
      assert.equal(await store.delete(scope, taskId), there);
    } else if (each.call === 'expiry') {
      const taskId = `${tenant} ${each.task}`;
      const task = tasks.get(taskId);
      if (task?.owner === scopes[each.owner]!.owner) task.expiresAt = each.at;
      await store.setExpiry(scopes[each.owner]!, taskId, each.at);
    } else if (each.more && open) {
      await list(open.query, open.before);
    } else {
      const { state, limit } = each;
      const contextId = each.context === undefined ? undefined : `context ${each.context}`;
      await list({ ...scopes[each.owner]!, state, contextId, limit }, Infinity);
    }
  }

  for (const task of tasks.values()) {
    const head = await store.head(task, task.taskId);
    assert.ok(head);
    assert.equal(head.seq, task.log.length);
    assert.equal(head.contextId, task.contextId);
    assert.deepEqual(head.status, statusOf(task));
    const entries = await store.read(task.taskId, 0, 1000);
    assert.deepEqual(
      entries.map(({ seq, event }) => ({ seq, event })),
      task.log,
    );
    for (const id of task.messageIds) assert.equal(await store.findMessage(task, id), task.taskId);
  }
  const due = (await store.expired(5, 1e6)).filter((head) => head.tenant === tenant);
  assert.deepEqual(
    due.map(({ taskId, expiresAt }) => ({ taskId, expiresAt })).toSorted(byId),
    [...tasks.values()]
      .map(({ taskId, expiresAt }) => ({ taskId, expiresAt }))
      .filter(({ expiresAt }) => expiresAt !== undefined && expiresAt <= 5)
      .toSorted(byId),
  );
  const times = due.map(({ expiresAt = 0 }) => expiresAt);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  const unfinished = (await store.unfinished()).filter((head) => head.tenant === tenant);
  const expected = [...tasks.values()].filter((task) =>
    ['submitted', 'working'].includes(statusOf(task).state),
  );
  assert.deepEqual(
    unfinished.map(({ taskId }) => taskId).toSorted(),
    expected.map(({ taskId }) => taskId).toSorted(),
  );
}

function byId(a: { taskId: string }, b: { taskId: string }): number {
  return a.taskId < b.taskId ? -1 : 1;
}

function statusOf(task: ModelTask) {
  const folded = fold(task.log.map(({ event }) => event));
  assert.ok(folded);
  return folded.status;
}
