import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Artifact, Message, Metadata, Part } from './message.ts';
import { fold, ONE_TEXT_KEY, reduce, refusal } from './reduce.ts';
import { Task, TaskState, type TaskEvent } from './task.ts';
import { isTerminal } from './task-state.ts';

const text = fc.string({ maxLength: 6 });
const id = fc.constantFrom('a', 'b', 'c');
const metadata = fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 });
const part = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text }),
  fc.record({ kind: fc.constant('data' as const), data: fc.jsonValue({ maxDepth: 1 }) }),
);
const parts = fc.array(part, { minLength: 1, maxLength: 3 });
const message: fc.Arbitrary<Message> = fc.record(
  {
    kind: fc.constant('message' as const),
    messageId: fc.constantFrom('m1', 'm2', 'm3', 'm4'),
    role: fc.constantFrom('user', 'agent'),
    parts,
    metadata,
  },
  { requiredKeys: ['kind', 'messageId', 'role', 'parts'] },
);
const artifact: fc.Arbitrary<Artifact> = fc.record(
  { artifactId: id, parts, name: text, metadata },
  { requiredKeys: ['artifactId', 'parts'] },
);
const status = fc.record(
  { state: fc.constantFrom(...TaskState.options), message, timestamp: text },
  { requiredKeys: ['state'] },
);
const taskId = fc.constantFrom('t1', 't1', 't1', 't1', 'other');
const task = fc.record(
  {
    kind: fc.constant('task' as const),
    id: taskId,
    contextId: fc.constant('c'),
    status,
    history: fc.array(message, { maxLength: 2 }),
    artifacts: fc.array(artifact, { maxLength: 2 }),
  },
  { requiredKeys: ['kind', 'id', 'contextId', 'status'] },
);
const event: fc.Arbitrary<TaskEvent> = fc.oneof(
  { weight: 1, arbitrary: task },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('status-update' as const),
      taskId,
      contextId: fc.constant('c'),
      status,
      final: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record(
      {
        kind: fc.constant('artifact-update' as const),
        taskId,
        contextId: fc.constant('c'),
        artifact,
        append: fc.boolean(),
      },
      { requiredKeys: ['kind', 'taskId', 'contextId', 'artifact'] },
    ),
  },
);
/** As JSON has them: plain objects. */
const events = fc
  .tuple(fc.option(task, { nil: undefined }), fc.array(event, { maxLength: 40 }))
  .map(([first, rest]) => {
    const list: TaskEvent[] = JSON.parse(JSON.stringify(first ? [first].concat(rest as []) : rest));
    return list;
  });

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inside of Object.values(value)) frozen(inside);
  }
  return value;
}

test('any sequence of events folds into a valid task or none, and no event is changed', () => {
  fc.assert(
    fc.property(events, (list) => {
      const result = fold(frozen(list));
      if (result) Task.parse(result);
      else assert.notEqual(list[0]?.kind, 'task');
    }),
    { numRuns: 200 },
  );
});

test('folding as events come is folding them again after they were written down', () => {
  fc.assert(
    fc.property(events, (list) => {
      let live: Task | undefined;
      for (const one of list) live = reduce(live, one);
      const stored = list.map((one) => JSON.parse(JSON.stringify(one)) as TaskEvent);
      assert.deepEqual(live, fold(stored));
    }),
    { numRuns: 200 },
  );
});

test('a fold that is interrupted and taken up again ends the same', () => {
  fc.assert(
    fc.property(events, fc.nat(40), (list, at) => {
      const first = fold(list.slice(0, at));
      // What a snapshot is: the task as it is now, as the first event of what follows.
      const resumed = first
        ? fold([structuredClone(first), ...list.slice(at)])
        : fold(list.slice(at));
      if (first) assert.deepEqual(resumed, fold(list));
    }),
    { numRuns: 200 },
  );
});

test('one event can be folded into many tasks: they share nothing that changes', () => {
  fc.assert(
    fc.property(events, (list) => {
      const one = fold(list);
      const copy = structuredClone(one);
      fold(list);
      let other: Task | undefined;
      for (const event of list) other = reduce(other, event);
      assert.deepEqual(one, copy);
      assert.deepEqual(other, copy);
    }),
  );
});

test('the fold takes what refusal allows, and nothing else: one terminal event per turn', () => {
  fc.assert(
    fc.property(events, (list) => {
      let state: Task['status']['state'] | undefined;
      let folded: Task | undefined;
      let open = false;
      for (const one of list) {
        const mine = one.kind === 'task' || folded === undefined || one.taskId === folded.id;
        const taken = refusal(state, one) === undefined && mine;
        const before = structuredClone(folded);
        folded = reduce(folded, one);
        if (!taken) {
          assert.deepEqual(folded, before);
          continue;
        }
        if (one.kind === 'artifact-update') {
          assert.ok(open, 'an artifact belongs to a turn that is open');
          continue;
        }
        const ends = isTerminal(one.status.state);
        if (state !== undefined && ends) assert.ok(open, 'a turn ends once');
        open = !ends;
        state = one.status.state;
        assert.equal(folded?.status.state, state);
      }
    }),
    { numRuns: 200 },
  );
});

const created: Task = {
  kind: 'task',
  id: 't',
  contextId: 'c',
  status: { state: 'submitted' },
};
const says = (role: 'user' | 'agent', messageId: string): Message => ({
  kind: 'message',
  messageId,
  role,
  parts: [{ kind: 'text', text: messageId }],
});
const becomes = (state: TaskState, said?: Message): TaskEvent => ({
  kind: 'status-update',
  taskId: 't',
  contextId: 'c',
  status: { state, ...(said && { message: said }) },
  final: false,
});
const chunk = (artifactId: string, words: string[], more: object = {}): TaskEvent => ({
  kind: 'artifact-update',
  taskId: 't',
  contextId: 'c',
  artifact: { artifactId, parts: words.map((text) => ({ kind: 'text', text })), ...more },
  append: true,
});

test('nothing follows a terminal state, except a new turn of a completed task', () => {
  for (const state of ['completed', 'failed', 'canceled', 'rejected'] as const) {
    assert.match(refusal(state, chunk('a', ['x'])) ?? '', /no event may follow/);
    assert.match(refusal(state, becomes('working')) ?? '', /no event may follow/);
    assert.match(
      refusal(state, becomes('working', says('agent', 'm'))) ?? '',
      /no event may follow/,
    );
    assert.match(refusal(state, becomes('failed', says('user', 'm'))) ?? '', /no event may follow/);
    const opens = refusal(state, becomes('working', says('user', 'm')));
    assert.equal(opens === undefined, state === 'completed');
  }
  assert.match(refusal(undefined, becomes('working')) ?? '', /the task itself/);
  assert.match(refusal('working', created) ?? '', /already exists/);
});

test('chunks are appended, an update without append replaces, and metadata is merged', () => {
  const whole = fold([
    created,
    chunk('a', ['1'], { name: 'first', metadata: { x: 1 } }),
    chunk('a', ['2', '3'], { metadata: { y: 2 } }),
    chunk('b', ['other']),
  ]);
  assert.deepEqual(whole?.artifacts, [
    {
      artifactId: 'a',
      name: 'first',
      metadata: { x: 1, y: 2 },
      parts: ['1', '2', '3'].map((text) => ({ kind: 'text', text })),
    },
    { artifactId: 'b', parts: [{ kind: 'text', text: 'other' }] },
  ]);
  const replaced = reduce(whole, { ...chunk('a', ['new']), append: false });
  assert.deepEqual(replaced?.artifacts?.[0], {
    artifactId: 'a',
    parts: [{ kind: 'text', text: 'new' }],
  });
});

test('what was said becomes history in its order, once', () => {
  const task = fold([
    { ...created, history: [says('user', 'm1')] },
    becomes('working', says('agent', 'm2')),
    becomes('input-required', says('agent', 'm3')),
    becomes('working', says('user', 'm4')),
    becomes('completed', says('agent', 'm5')),
  ]);
  assert.deepEqual(
    task?.history?.map(({ messageId }) => messageId),
    ['m1', 'm2', 'm3', 'm4'],
  );
  assert.equal(task?.status.message?.messageId, 'm5');
});

/** Counts how often an artifact's fields are read: work that does not depend on the machine. */
function countedWork(total: number, artifacts: number): number {
  let reads = 0;
  const counting = (one: Artifact): Artifact =>
    new Proxy(one, {
      get(target, key) {
        reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
  let task = reduce(undefined, created);
  for (let n = 0; n < total; n++) {
    const update = chunk(`a${n % artifacts}`, ['x']);
    task = reduce(task, update);
    // What is in the task from now on is counted when it is looked at.
    const list = task!.artifacts!;
    const at = list.findIndex(({ artifactId }) => artifactId === `a${n % artifacts}`);
    if (n < artifacts) list[at] = counting(list[at]!);
  }
  reads = 0;
  for (let n = 0; n < 100; n++) task = reduce(task, chunk(`a${n % artifacts}`, ['x']));
  return reads;
}

test('an event costs the same in a task of 5,000 events as in one of 100', () => {
  for (const artifacts of [1, 50]) {
    const few = countedWork(100, artifacts);
    const many = countedWork(5000, artifacts);
    assert.ok(many <= few * 2, `${many} reads instead of ${few}, with ${artifacts} artifacts`);
  }
  const busy = countedWork(5000, 2000);
  assert.ok(busy <= 3000, `${busy} reads for 100 events among 2,000 artifacts`);
});

test('folding 20,000 events takes no longer than folding them should', { timeout: 5000 }, () => {
  for (const artifacts of [1, 20_000]) {
    const list: TaskEvent[] = [created];
    for (let n = 0; n < 20_000; n++) list.push(chunk(`a${n % artifacts}`, ['x']));
    assert.equal(fold(list)?.artifacts?.length, artifacts);
  }
});

test('appended texts are joined only in an artifact that is marked as one text', () => {
  const chunk = (parts: Part[], append: boolean, metadata?: Metadata): TaskEvent => ({
    kind: 'artifact-update',
    taskId: 't',
    contextId: 'c',
    artifact: { artifactId: 'a', parts, ...(metadata && { metadata }) },
    append,
  });
  const text = (said: string): Part => ({ kind: 'text', text: said });
  const file: Part = { kind: 'file', file: { uri: 'https://a.example/f' } };
  const marked: Part = { ...text('!'), metadata: { own: 1 } };
  const foldOf = (metadata?: Metadata) =>
    fold([
      { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } },
      chunk([text('a')], false, metadata),
      chunk([text('b'), file, text('c')], true),
      chunk([text('d'), marked, text('')], true),
    ])?.artifacts?.[0]?.parts;
  assert.deepEqual(foldOf({ [ONE_TEXT_KEY]: true }), [text('ab'), file, text('cd'), marked]);
  // The parts of another server's artifact may be separate items.
  const apart = [text('a'), text('b'), file, text('c'), text('d'), marked, text('')];
  assert.deepEqual(foldOf(), apart);
});

test('each of many artifacts can be appended to, the newest and the oldest too', () => {
  const update = (artifactId: string, text: string, append: boolean): TaskEvent => ({
    kind: 'artifact-update',
    taskId: 't1',
    contextId: 'c',
    artifact: { artifactId, parts: [{ kind: 'text', text }] },
    append,
  });
  const log: TaskEvent[] = [
    { kind: 'task', id: 't1', contextId: 'c', status: { state: 'working' } },
  ];
  for (let n = 0; n < 40; n++) {
    log.push(update(`a${n}`, 'one', false), update(`a${n}`, 'two', true), update('a0', '+', true));
  }
  const artifacts = fold(log)?.artifacts ?? [];
  const texts = artifacts.map(({ parts }) =>
    parts.map((each) => (each.kind === 'text' ? each.text : '')).join(),
  );
  assert.equal(artifacts.length, 40);
  assert.equal(texts[0], ['one', 'two', ...Array.from({ length: 40 }, () => '+')].join());
  assert.deepEqual(new Set(texts.slice(1)), new Set(['one,two']));
});
