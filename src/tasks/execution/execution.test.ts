import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTerminal, type Message, type Task, type TaskEvent } from '../../protocol/index.ts';
import type { AgentExecutor, ExecutionContext, ExecutorEvent } from './executor.ts';
import { createHandler, type HandlerOptions, type RequestHandler } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';

interface Logged {
  readonly level: string;
  readonly fields: { readonly err?: Error; readonly correlationId?: string };
  readonly text: string;
}

function recorder() {
  const entries: Logged[] = [];
  const take = (level: string) => (fields: object, text: string) => {
    entries.push({ level, fields, text });
  };
  const logger = {
    debug: take('debug'),
    info: take('info'),
    warn: take('warn'),
    error: take('error'),
  };
  return { entries, logger, errors: () => entries.filter(({ level }) => level === 'error') };
}

type Execute = (context: ExecutionContext) => AsyncIterable<ExecutorEvent>;

function setUp(execute: Execute, options: HandlerOptions = {}, more: Partial<AgentExecutor> = {}) {
  const log = recorder();
  const handler = createHandler({ execute, ...more }, { logger: log.logger, ...options });
  return { handler, ...log };
}

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

async function send(handler: RequestHandler, text = 'go', blocking = true): Promise<Task> {
  return (await handler.sendMessage({ message: says(text), configuration: { blocking } })) as Task;
}

async function statesOf(handler: RequestHandler, id: string): Promise<string[]> {
  const { entries } = await handler.readLog({ id });
  return entries.map(({ event }) =>
    event.kind === 'artifact-update' ? 'artifact' : event.status.state,
  );
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const working: ExecutorEvent = { kind: 'status-update', state: 'working' };
const chunk = (text: string, append = true): ExecutorEvent => ({
  kind: 'artifact-update',
  artifact: { artifactId: 'a', parts: [{ kind: 'text', text }] },
  append,
});
const forever = () => new Promise<never>(() => {});

test('an executor that returns without a terminal state completes its task', async () => {
  const { handler } = setUp(async function* () {
    yield working;
  });
  const task = await send(handler);
  assert.equal(task.status.state, 'completed');
  assert.deepEqual(await statesOf(handler, task.id), ['submitted', 'working', 'completed']);
});

test('an executor that throws fails its task; the cause is in the log under the id that the peer gets', async () => {
  const { handler, errors } = setUp(async function* () {
    yield working;
    throw new Error('password is hunter2');
  });
  const task = await send(handler);
  assert.equal(task.status.state, 'failed');
  assert.ok(!JSON.stringify(task).includes('hunter2'));
  const [entry] = errors();
  assert.match(entry!.fields.err!.message, /hunter2/);
  assert.ok(JSON.stringify(task.status.message).includes(entry!.fields.correlationId!));
});

test('an executor that throws before its first event, or is none at all, fails its task', async () => {
  const broken: unknown[] = [
    () => {
      throw new Error('at once');
    },
    () => undefined,
    () => [working],
    () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('no')) }) }),
  ];
  for (const execute of broken) {
    const { handler, errors } = setUp(execute as Execute);
    assert.equal((await send(handler)).status.state, 'failed');
    assert.equal(errors().length, 1);
    assert.equal(handler.running, 0);
  }
});

test('what no peer could read fails the task and is not in its log', async () => {
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const part = (value: unknown) => ({
    kind: 'artifact-update',
    artifact: { artifactId: 'a', parts: [value] },
  });
  const garbage: unknown[] = [
    undefined,
    null,
    5,
    'text',
    {},
    { kind: 'task' },
    { kind: 'status-update' },
    { kind: 'status-update', state: 'happy' },
    { kind: 'status-update', state: 'working', message: 5 },
    { kind: 'status-update', state: 'working', message: { parts: [] } },
    { kind: 'artifact-update' },
    { kind: 'artifact-update', artifact: { parts: [{ kind: 'text', text: 'x' }] } },
    { kind: 'artifact-update', artifact: { artifactId: 'a' } },
    { kind: 'artifact-update', artifact: { artifactId: 'a', parts: [] } },
    part(undefined),
    part('text'),
    part({ kind: 'song' }),
    part({ kind: 'text' }),
    part({ kind: 'file', file: {} }),
    part({ kind: 'data' }),
    part({ kind: 'data', data: 10n }),
    part({ kind: 'data', data: circular }),
    { ...part({ kind: 'text', text: 'x' }), append: 'yes' },
    { ...part({ kind: 'text', text: 'x' }), lastChunk: 1 },
  ];
  for (const value of garbage) {
    const { handler, errors } = setUp(async function* () {
      yield value as ExecutorEvent;
    });
    const task = await send(handler);
    assert.deepEqual(await statesOf(handler, task.id), ['submitted', 'failed'], String(value));
    assert.equal(errors().length, 1);
  }
});

test('events after the end are not taken, and the executor is closed', async () => {
  let closed = false;
  const { handler } = setUp(async function* () {
    try {
      yield { kind: 'status-update', state: 'completed' };
      yield chunk('late');
    } finally {
      closed = true;
    }
  });
  const task = await send(handler);
  assert.deepEqual(await statesOf(handler, task.id), ['submitted', 'completed']);
  await tick();
  assert.equal(closed, true);
});

test('what an executor does to an event after it was yielded does not change the log', async () => {
  const { handler } = setUp(async function* () {
    const parts = [{ kind: 'text' as const, text: 'one' }];
    const artifact = { artifactId: 'a', parts };
    yield { kind: 'artifact-update', artifact };
    parts[0]!.text = 'changed';
    parts.push({ kind: 'text', text: 'two' });
    artifact.artifactId = 'b';
    yield working;
  });
  const { artifacts } = await send(handler);
  assert.deepEqual(artifacts, [{ artifactId: 'a', parts: [{ kind: 'text', text: 'one' }] }]);
});

test('the task that an execution was given stays as it was', async () => {
  let given: Task | undefined;
  let before = '';
  const { handler } = setUp(async function* (context) {
    if (context.turn.length === 1) {
      yield chunk('one', false);
      yield { kind: 'status-update', state: 'input-required' };
      return;
    }
    given = context.task;
    before = JSON.stringify(given);
    yield chunk('two');
    yield chunk('three');
  });
  const { id: taskId } = await send(handler);
  const task = (await handler.sendMessage({ message: says('x', { taskId }) })) as Task;
  assert.equal(task.artifacts?.[0]?.parts.length, 3);
  assert.equal(JSON.stringify(given), before);
});

test('an executor that ignores its signal is cut off after the grace time', async () => {
  const { handler } = setUp(
    async function* () {
      yield working;
      await forever();
    },
    { limits: { graceMs: 30 } },
  );
  const { id } = await send(handler, 'go', false);
  const began = performance.now();
  const [one, two] = await Promise.all([handler.cancelTask({ id }), handler.cancelTask({ id })]);
  assert.ok(performance.now() - began < 5000);
  for (const task of [one, two]) assert.equal(task.status.state, 'canceled');
  assert.deepEqual(await statesOf(handler, id), ['submitted', 'working', 'canceled']);
  assert.equal(handler.running, 0);
  await assert.rejects(handler.cancelTask({ id }), { kind: 'taskNotCancelable' });
});

test('a task that is being canceled when the server goes down is canceled, not interrupted', async () => {
  const { handler } = setUp(
    async function* () {
      yield working;
      await forever();
    },
    { limits: { graceMs: 50 } },
  );
  const { id } = await send(handler, 'go', false);
  await tick();
  const canceled = handler.cancelTask({ id });
  const closed = handler.close(0);
  assert.equal((await canceled).status.state, 'canceled');
  await closed;
});

test('an executor is told of a cancellation; what it throws then changes nothing', async () => {
  const told: string[] = [];
  const { handler, entries } = setUp(
    async function* ({ signal }) {
      yield working;
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    },
    {},
    {
      cancel(taskId) {
        told.push(taskId);
        throw new Error('busy');
      },
    },
  );
  const { id } = await send(handler, 'go', false);
  await tick();
  assert.equal((await handler.cancelTask({ id })).status.state, 'canceled');
  assert.deepEqual(told, [id]);
  assert.deepEqual(entries.filter(({ level }) => level === 'warn').length, 1);
  assert.deepEqual(entries.filter(({ level }) => level === 'error').length, 0);
});

test('an executor may end a canceled task its own way', async () => {
  const { handler } = setUp(async function* ({ signal }) {
    yield working;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield { kind: 'status-update', state: 'completed', message: 'just made it' };
  });
  const { id } = await send(handler, 'go', false);
  await tick();
  await assert.rejects(handler.cancelTask({ id }), { kind: 'taskNotCancelable' });
  assert.equal((await handler.getTask({ id })).status.state, 'completed');
});

test('a question that an executor asks after a cancel is not asked', async () => {
  const { handler } = setUp(async function* ({ signal }) {
    yield working;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield { kind: 'status-update', state: 'input-required', message: 'Which one?' };
  });
  const { id } = await send(handler, 'go', false);
  await tick();
  assert.equal((await handler.cancelTask({ id })).status.state, 'canceled');
  assert.deepEqual(await statesOf(handler, id), ['submitted', 'working', 'canceled']);
});

test('a task that is canceled before its execution begins is never executed', async (t) => {
  let executions = 0;
  const store = memoryStore();
  const { handler, errors } = setUp(
    async function* () {
      executions++;
      yield { kind: 'status-update', state: 'input-required' };
    },
    {
      store,
      deliver: { accept: (config) => ({ id: 'h', ...config }), prepare: async () => undefined },
    },
  );
  const { id: taskId } = await send(handler);
  // The answer is taken, and waits for the webhooks to be looked up.
  const slow = Promise.withResolvers<[]>();
  t.mock.method(store, 'listPush', () => slow.promise);
  const answered = handler.sendMessage({ message: says('x', { taskId }) });
  while ((await statesOf(handler, taskId)).at(-1) !== 'working') await tick();
  const canceled = handler.cancelTask({ id: taskId });
  await tick();
  slow.resolve([]);
  assert.equal((await canceled).status.state, 'canceled');
  assert.equal(((await answered) as Task).status.state, 'canceled');
  assert.equal(executions, 1);
  assert.equal(errors().length, 0);
});

test('what a task said in earlier turns counts towards its limit', async () => {
  const { handler } = setUp(
    async function* () {
      yield chunk('x'.repeat(20_000));
      yield { kind: 'status-update', state: 'input-required' };
    },
    { limits: { maxTaskBytes: 50_000 } },
  );
  const { id: taskId } = await send(handler);
  const states: string[] = [];
  for (let n = 0; n < 2; n++) {
    // Nobody reads it, so that it is not live in between.
    await tick();
    const task = (await handler.sendMessage({ message: says('more', { taskId }) })) as Task;
    states.push(task.status.state);
  }
  assert.deepEqual(states, ['input-required', 'failed']);
});

test('an executor does not enter a state that nobody could take the task out of', async () => {
  for (const state of ['unknown', 'unspecified'] as const) {
    const { handler, errors } = setUp(async function* () {
      yield { kind: 'status-update', state };
    });
    assert.equal((await send(handler)).status.state, 'failed', state);
    assert.equal(errors().length, 1);
  }
});

test('when unfinished tasks fill the store, a message for a new one is refused as unavailable', async () => {
  const { handler } = setUp(
    async function* ({ turn }) {
      yield { kind: 'status-update', state: turn.length === 1 ? 'input-required' : 'completed' };
    },
    { store: memoryStore({ maxTasks: 3 }) },
  );
  const { id: taskId } = await send(handler);
  await send(handler);
  await send(handler);
  await assert.rejects(send(handler), { kind: 'unavailable' });
  assert.equal(handler.running, 0);
  const done = (await handler.sendMessage({ message: says('x', { taskId }) })) as Task;
  assert.equal(done.status.state, 'completed');
  assert.equal((await handler.getTask({ id: taskId })).status.state, 'completed');
  assert.equal((await send(handler)).status.state, 'input-required');
});

test('a task that outgrows its limit in memory fails, and says so', async () => {
  const { handler } = setUp(
    async function* () {
      for (;;) yield chunk('x'.repeat(1000));
    },
    { limits: { maxTaskBytes: 50_000 } },
  );
  const task = await send(handler);
  assert.equal(task.status.state, 'failed');
  assert.match(JSON.stringify(task.status.message), /exceeded the limit of 50000 bytes/);
});

test('an executor that never stops yielding leaves others their turn', async () => {
  const { handler } = setUp(
    async function* () {
      for (;;) yield chunk('x', false);
    },
    { limits: { graceMs: 20 } },
  );
  const { id } = await send(handler, 'go', false);
  for (let n = 0; n < 5; n++) await tick();
  assert.equal((await handler.cancelTask({ id })).status.state, 'canceled');
});

test('a log that another writer took over ends the execution and its readers, not the process', async (t) => {
  const store = memoryStore();
  const aborted = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const { handler, errors } = setUp(
    async function* ({ signal }) {
      yield working;
      await gate.promise;
      signal.addEventListener('abort', () => aborted.resolve());
      yield chunk('lost');
      await forever();
    },
    { store },
  );
  const { id } = await send(handler, 'go', false);
  const stream = await handler.subscribe({ id });
  t.mock.method(store, 'append', () => ['conflict']);
  gate.resolve();
  const seen = [];
  for await (const { event } of stream) seen.push(event.kind);
  assert.ok(!seen.includes('artifact-update'));
  await aborted.promise;
  assert.equal(handler.running, 0);
  assert.equal(errors().length, 0);
});

test('closing waits for executions to end, and takes no more messages', async () => {
  const gate = Promise.withResolvers<void>();
  const { handler } = setUp(async function* () {
    yield working;
    await gate.promise;
    yield chunk('done');
  });
  const sent = send(handler);
  await tick();
  const closed = handler.close(5000);
  await assert.rejects(send(handler), { kind: 'unavailable' });
  gate.resolve();
  assert.equal((await sent).status.state, 'completed');
  await closed;
});

for (const how of ['returns', 'throws', 'hangs'] as const) {
  test(`an execution that ${how} when the server goes down is interrupted, not completed or failed`, async (t) => {
    const store = memoryStore();
    t.mock.method(store, 'close', () => {});
    const { handler, errors } = setUp(
      async function* ({ signal }) {
        yield working;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        if (how === 'throws') throw new Error('aborted');
        if (how === 'hangs') await forever();
      },
      { store, limits: { graceMs: 20 } },
    );
    const sent = send(handler);
    await tick();
    await handler.close(0);
    const task = await sent;
    assert.equal(task.status.state, 'failed');
    assert.match(JSON.stringify(task.status.message), /interrupted/);
    assert.equal(errors().length, 0);
  });

  test(`an executor that resumes and ${how} when the server goes down goes on after the restart`, async (t) => {
    const store = memoryStore();
    t.mock.method(store, 'close', () => {});
    const runs: boolean[] = [];
    const execute: Execute = async function* ({ signal, resumed }) {
      runs.push(resumed);
      yield working;
      if (resumed) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (how === 'throws') throw new Error('aborted');
      if (how === 'hangs') await forever();
    };
    const options = { store, limits: { graceMs: 20 } };
    const { handler } = setUp(execute, options, { rules: { resumes: true } });
    const { id } = await send(handler, 'go', false);
    await tick();
    await handler.close(0);
    const { handler: next } = setUp(execute, options, { rules: { resumes: true } });
    await next.recover();
    while (next.running > 0) await tick();
    assert.equal((await next.getTask({ id })).status.state, 'completed');
    assert.deepEqual(runs, [false, true]);
    assert.deepEqual(await statesOf(next, id), ['submitted', 'working', 'working', 'completed']);
  });
}

test('after a restart, what was being executed is failed, what waits goes on', async () => {
  const store = memoryStore();
  const execute: Execute = async function* ({ turn, message }) {
    const [part] = message.parts;
    if (part?.kind === 'text' && part.text === 'hold') await forever();
    if (turn.length === 1) yield { kind: 'status-update', state: 'input-required' };
  };
  const { handler } = setUp(execute, { store });
  const held = await send(handler, 'hold', false);
  const asked = await send(handler, 'ask');
  const { handler: next } = setUp(execute, { store });
  await next.recover();
  const failed = await next.getTask({ id: held.id });
  assert.equal(failed.status.state, 'failed');
  assert.match(JSON.stringify(failed.status.message), /interrupted/);
  const message = says('answer', { taskId: asked.id });
  assert.equal(((await next.sendMessage({ message })) as Task).status.state, 'completed');
});

test('every task has one terminal event, and it is the last', async () => {
  const { handler } = setUp(async function* () {
    yield working;
  });
  const tasks = await Promise.all(Array.from({ length: 50 }, () => send(handler)));
  for (const { id } of tasks) {
    const events = (await handler.readLog({ id })).entries.map(
      ({ event }: { event: TaskEvent }) => event,
    );
    const ends = events.filter(
      (event) => event.kind === 'status-update' && isTerminal(event.status.state),
    );
    assert.deepEqual(ends, events.slice(-1));
  }
});
