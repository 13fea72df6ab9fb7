import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Task, TaskArtifactUpdateEvent } from '../../protocol/index.ts';
import { COMMIT_WINDOW_MS } from './commit-timer.ts';
import { EventLog } from './event-log.ts';
import { LogLostError } from './live-task.ts';
import type { AgentExecutor } from '../execution/executor.ts';
import { createHandler } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';
import type { Published } from './published.ts';
import type { Deliver } from '../push/deliver.ts';
import type { Append, AppendOutcome, TaskStore } from '../store/store.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const scope = { tenant: '', owner: '' };
const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };
const tick = () => new Promise((resolve) => setImmediate(resolve));

function chunk(text: string): TaskArtifactUpdateEvent {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text }] };
  return { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact, append: true };
}

/** A store like one on disk: it takes its time, and the test says when it is done. */
function slowStore() {
  const inner = memoryStore();
  const batches: (readonly Append[])[] = [];
  let finish: ((fail?: Error) => void) | undefined;
  const append = (batch: readonly Append[]) =>
    new Promise<readonly AppendOutcome[]>((resolve, reject) => {
      batches.push(batch);
      finish = (error) => (error ? reject(error) : resolve(inner.append(batch)));
    });
  const store = new Proxy<TaskStore>(inner, {
    get(target, key) {
      if (key === 'durable') return true;
      if (key === 'append') return append;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { store, batches, finish: (error?: Error) => finish?.(error) };
}

/** A sink that keeps the numbers of what it gets. */
function collector(room = true) {
  const seen: number[] = [];
  let ended: string | undefined;
  return {
    seen,
    ended: () => ended,
    take({ seq }: Published) {
      seen.push(seq);
      return room;
    },
    end(reason: string) {
      ended = reason;
    },
  };
}

test('a question that was answered before it was stored ends no reader', async () => {
  const { store, finish } = slowStore();
  const log = new EventLog(store, silent);
  using live = log.create(scope, task);
  const sink = collector();
  log.read(live, 0, sink).resume();
  const status = { kind: 'status-update', taskId: 't', contextId: 'c' } as const;
  void log.append(live, { ...status, status: { state: 'input-required' }, final: true });
  await tick();
  void log.append(live, { ...status, status: { state: 'working' }, final: false }, ['m2']);
  finish();
  await tick();
  assert.deepEqual([sink.seen, sink.ended()], [[1, 2], undefined]);
  void log.append(live, { ...status, status: { state: 'completed' }, final: true });
  finish();
  await tick();
  await tick();
  finish();
  await tick();
  assert.deepEqual([sink.seen, sink.ended()], [[1, 2, 3, 4], 'final']);
});

test('nothing is published before it is stored, and appends of one turn are one write', async () => {
  const { store, batches, finish } = slowStore();
  const log = new EventLog(store, silent);
  using live = log.create(scope, task);
  const sink = collector();
  log.read(live, 0, sink).resume();
  for (const text of ['a', 'b', 'c']) void log.append(live, chunk(text));
  await tick();
  assert.deepEqual(
    batches.map((batch) => batch.map(({ entries }) => entries.length)),
    [[4]],
  );
  assert.deepEqual(sink.seen, []);
  assert.equal(live.stored, 0);
  // What comes while the store writes goes together into the next write.
  void log.append(live, chunk('d'));
  void log.append(live, chunk('e'));
  await tick();
  assert.equal(batches.length, 1);
  finish();
  await live.whenStored(4);
  assert.deepEqual(sink.seen, [1, 2, 3, 4]);
  await tick();
  assert.deepEqual(
    batches[1]?.map(({ expected, entries }) => [expected, entries.length]),
    [[4, 2]],
  );
  finish();
  await live.whenStored(6);
  assert.deepEqual(sink.seen, [1, 2, 3, 4, 5, 6]);
});

test('the chunks of a burst share a write, and the end of the task does not wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, batches } = slowStore();
  const inner = memoryStore();
  const quick = new Proxy<TaskStore>(store, {
    get(target, key) {
      if (key !== 'append') return Reflect.get(target, key) as unknown;
      return (batch: readonly Append[]) => {
        batches.push(batch);
        return inner.append(batch);
      };
    },
  });
  let now = 1000;
  const log = new EventLog(quick, silent, undefined, () => now);
  using live = log.create(scope, task);
  await tick();
  // The last write has just ended, so chunks wait.
  for (const text of ['a', 'b', 'c']) {
    void log.append(live, chunk(text));
    await tick();
  }
  assert.equal(live.stored, 1);
  now += COMMIT_WINDOW_MS;
  t.mock.timers.tick(COMMIT_WINDOW_MS);
  assert.equal(live.stored, 4);
  // After a pause, a chunk does not wait.
  now += COMMIT_WINDOW_MS;
  void log.append(live, chunk('d'));
  await tick();
  assert.equal(live.stored, 5);
  void log.append(live, chunk('e'));
  const end = { kind: 'status-update', taskId: 't', contextId: 'c', final: true } as const;
  void log.append(live, { ...end, status: { state: 'completed' } });
  await tick();
  assert.equal(live.stored, 7);
  assert.equal(batches.length, 4);
});

test('when many tasks append at the same time, new tasks share a write too', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, batches, finish } = slowStore();
  const log = new EventLog(store, silent, undefined, () => 1000);
  const create = (id: string) => void log.create(scope, { ...task, id });
  for (const id of ['1', '2', '3', '4', '5']) create(id);
  await tick();
  finish();
  await tick();
  create('6');
  await tick();
  create('7');
  await tick();
  assert.equal(batches.length, 1);
  t.mock.timers.tick(COMMIT_WINDOW_MS);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [5, 2],
  );
});

for (const [what, text, most] of [
  ['512 events', 'x', 513],
  ['256 KB', 'x'.repeat(100_000), 3],
] as const) {
  test(`a writer that is ${what} ahead of the store is asked to wait`, async () => {
    const { store, finish } = slowStore();
    const log = new EventLog(store, silent);
    using live = log.create(scope, task);
    let wait: Promise<void> | undefined;
    let ahead = 0;
    while (!wait && ahead < 10_000) {
      wait = log.append(live, chunk(text));
      ahead++;
    }
    assert.ok(ahead <= most, `${ahead} entries in memory`);
    await tick();
    finish();
    await wait;
  });
}

test('a batch has at most 8 MB, unless it is a single append, and its failure loses no other task', async () => {
  const { store, batches, finish } = slowStore();
  const log = new EventLog(store, silent);
  const create = (id: string, megabytes: number) => {
    const metadata = { text: 'x'.repeat(megabytes * 1_000_000) };
    return log.create(scope, { ...task, id, metadata });
  };
  using _first = create('first', 0);
  await tick();
  const lives = [create('a', 3), create('b', 4), create('c', 5), create('d', 9), create('e', 1)];
  const outcomes = lives.map((live) =>
    live.whenStored(1).then(
      () => 'stored',
      () => 'lost',
    ),
  );
  for (const error of [undefined, undefined, new Error('too large'), undefined]) {
    const written = batches.length;
    finish(error);
    while (batches.length === written) await tick();
  }
  finish();
  assert.deepEqual(await Promise.all(outcomes), ['stored', 'stored', 'lost', 'stored', 'stored']);
  assert.deepEqual(
    batches.map((batch) => batch.map(({ taskId }) => taskId)),
    [['first'], ['a', 'b'], ['c'], ['d'], ['e']],
  );
  for (const live of lives) live[Symbol.dispose]();
});

test('entries that are appended while earlier ones of their task wait keep their order', async () => {
  const { store, batches, finish } = slowStore();
  const log = new EventLog(store, silent);
  using live = log.create(scope, task);
  await tick();
  const status = { kind: 'status-update', taskId: 't', contextId: 'c', final: false } as const;
  const text = 'x'.repeat(5_000_000);
  const says = (messageId: string) => {
    const parts = [{ kind: 'text' as const, text }];
    const message: Message = { kind: 'message', messageId, role: 'user', parts };
    void log.append(live, { ...status, status: { state: 'working', message } }, [messageId]);
  };
  for (const id of ['m1', 'm2', 'm3']) says(id);
  while (live.stored < live.seq) {
    if (batches.length < 4) void log.append(live, chunk(`during batch ${batches.length}`));
    finish();
    await tick();
  }
  assert.deepEqual(
    batches.map((batch) => batch.map(({ expected, entries }) => [expected, entries.length])),
    [[[0, 1]], [[1, 1]], [[2, 1]], [[3, 4]]],
  );
});

test('a store that fails loses its tasks: waiters are told, readers end, appends throw', async () => {
  const { store, finish } = slowStore();
  const log = new EventLog(store, silent);
  using live = log.create(scope, task);
  const sink = collector();
  log.read(live, 0, sink).resume();
  const stored = live.whenStored(1);
  await tick();
  finish(new Error('disk full'));
  await assert.rejects(stored, LogLostError);
  assert.equal(sink.ended(), 'lost');
  assert.throws(() => log.append(live, chunk('x')), LogLostError);
  await assert.rejects(live.whenStored(1), LogLostError);
  assert.equal(log.liveCount, 0);
});

test('an execution whose end cannot be stored is aborted', async (t) => {
  const { store, batches, finish } = slowStore();
  let signal: AbortSignal | undefined;
  const executor: AgentExecutor = {
    async *execute(context) {
      signal = context.signal;
      yield { kind: 'status-update', state: 'completed' };
    },
  };
  const handler = createHandler(executor, { store, logger: silent });
  t.after(() => handler.close());
  const parts = [{ kind: 'text' as const, text: 'hi' }];
  const message: Message = { kind: 'message', messageId: 'm', role: 'user', parts };
  const sent = assert.rejects(handler.sendMessage({ message }));
  while (batches.length < 1) await tick();
  finish();
  while (batches.length < 2) await tick();
  assert.equal(signal?.aborted, false);
  finish(new Error('disk full'));
  await sent;
  assert.equal(signal?.aborted, true);
});

test('an event that the state machine refuses is not appended', () => {
  const log = new EventLog(memoryStore(), silent);
  using live = log.create(scope, task);
  const failed = {
    ...task,
    kind: 'status-update',
    taskId: 't',
    status: { state: 'failed' },
    final: true,
  } as const;
  void log.append(live, failed);
  assert.throws(() => log.append(live, chunk('late')), /no event may follow/);
  assert.equal(live.seq, 2);
});

test('closing waits for what is unstored, and ends the readers', async () => {
  const { store, finish } = slowStore();
  const log = new EventLog(store, silent);
  using live = log.create(scope, task);
  const sink = collector();
  log.read(live, 0, sink).resume();
  const closed = log.close();
  await tick();
  assert.equal(sink.ended(), undefined);
  finish();
  await closed;
  assert.deepEqual(sink.seen, [1]);
  assert.equal(sink.ended(), 'shutdown');
});

test('a task of another scope cannot be opened, live or not', async () => {
  const log = new EventLog(memoryStore(), silent);
  const other = { tenant: '', owner: 'bob' };
  {
    using _live = log.create(scope, task);
    assert.equal(await log.open(other, 't'), undefined);
  }
  assert.equal(log.liveCount, 0);
  assert.equal(await log.open(other, 't'), undefined);
  assert.equal(log.liveCount, 0);
});

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

test('a task that is not stored yet does not exist, and asking for it leaves nothing behind', async (t) => {
  const opened = t.mock.method(EventLog.prototype, 'open');
  const { store, batches, finish } = slowStore();
  const execute: AgentExecutor['execute'] = async function* () {
    yield { kind: 'status-update', state: 'working' };
  };
  const handler = createHandler({ execute }, { store, logger: silent });
  const sent = handler.sendMessage({ message: says('x') });
  while (batches.length < 1) await tick();
  const id = batches[0]![0]!.taskId;
  await assert.rejects(handler.getTask({ id }), { kind: 'taskNotFound' });
  const flow = setInterval(finish, 1);
  t.after(() => clearInterval(flow));
  assert.equal(((await sent) as Task).status.state, 'completed');
  await tick();
  const log = opened.mock.calls[0]?.this as EventLog;
  assert.equal(log.liveCount, 0);
});

for (const disk of [false, true]) {
  test(`an answer that comes twice at once is one answer, ${disk ? 'on disk' : 'in memory'}`, async (t) => {
    const { store, finish } = slowStore();
    let executions = 0;
    const execute: AgentExecutor['execute'] = async function* ({ turn }) {
      executions++;
      if (turn.length === 1) yield { kind: 'status-update', state: 'input-required' };
    };
    const handler = createHandler({ execute }, { logger: silent, ...(disk && { store }) });
    const flow = setInterval(finish, 1);
    t.after(() => clearInterval(flow));
    const { id: taskId } = (await handler.sendMessage({ message: says('x') })) as Task;
    const message = says('answer', { taskId });
    const answers = [1, 2, 3].map(() => handler.sendMessage({ message }) as Promise<Task>);
    const other = handler.sendMessage({ message: says('other', { taskId }) });
    await assert.rejects(other, { kind: 'unsupportedOperation' });
    for (const { id, status } of await Promise.all(answers)) {
      assert.deepEqual([id, status.state], [taskId, 'completed']);
    }
    assert.equal(executions, 2);
  });
}

test('when everything has ended, the log holds no task', async (t) => {
  const opened = t.mock.method(EventLog.prototype, 'open');
  const deliver: Deliver = {
    accept: (config) => ({ id: 'h', ...config }),
    prepare: async () => async () => 'taken',
  };
  const execute: AgentExecutor['execute'] = async function* ({ message, turn, signal }) {
    const [part] = message.parts;
    const text = part?.kind === 'text' ? part.text : '';
    yield { kind: 'status-update', state: 'working' };
    if (text === 'ask' && turn.length === 1)
      yield { kind: 'status-update', state: 'input-required' };
    if (text === 'fail') throw new Error('x');
    if (text === 'hold') await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const handler = createHandler({ execute }, { deliver, logger: silent, limits: { graceMs: 20 } });
  const send = async (text: string, blocking = true) =>
    (await handler.sendMessage({ message: says(text), configuration: { blocking } })) as Task;
  const hook = { id: 'h', url: 'https://example.org' };
  for (let n = 0; n < 20; n++) {
    const message = says('fine');
    const configuration = { pushNotificationConfig: hook };
    await Promise.all([1, 2, 3].map(() => handler.sendMessage({ message, configuration })));
    await send('fail');
    const { id: taskId } = await send('ask');
    const answer = says('x', { taskId });
    await Promise.allSettled([
      handler.sendMessage({ message: answer }),
      handler.sendMessage({ message: says('y', { taskId }) }),
    ]);
    const held = await send('hold', false);
    const stream = await handler.subscribe({ id: held.id });
    const left = await handler.subscribe({ id: held.id });
    left.close();
    const leaving = new AbortController();
    const params = { message: says('hold') };
    const waiting = handler.sendMessage(params, { signal: leaving.signal });
    await tick();
    leaving.abort();
    await assert.rejects(waiting, { kind: 'unavailable' });
    const seen = (async () => {
      for await (const item of stream) void item;
    })();
    for (const { id } of (await handler.listTasks({ status: 'working' })).tasks) {
      await handler.cancelTask({ id });
    }
    await seen;
    const nobody = { id: 'nobody' };
    const failing = [
      handler.getTask(nobody),
      handler.subscribe(nobody),
      handler.cancelTask(nobody),
    ];
    for (const { status } of await Promise.allSettled(failing)) assert.equal(status, 'rejected');
    await handler.setPushConfig({ taskId, pushNotificationConfig: hook });
    await handler.getTask({ id: taskId });
    await assert.rejects(handler.subscribe({ id: taskId }));
    await assert.rejects(handler.subscribe({ id: taskId, after: 999 }));
  }
  for (let n = 0; n < 20; n++) await tick();
  const log = opened.mock.calls[0]?.this as EventLog;
  assert.equal(log.liveCount, 0);
  assert.equal(handler.running, 0);
});

test('a live task is opened only by its own owner and tenant', async () => {
  const log = new EventLog(memoryStore(), silent);
  const own = { tenant: 'a', owner: 'ann' };
  using live = log.create(own, task);
  assert.equal(log.isLive('t'), true);
  for (const other of [
    { tenant: 'b', owner: 'ann' },
    { tenant: '', owner: 'ann' },
    { tenant: 'a', owner: 'ben' },
    { tenant: 'a', owner: '' },
  ]) {
    assert.equal(await log.open(other, 't'), undefined);
  }
  using same = await log.open(own, 't');
  assert.equal(same, live);
});
