/** Messages that name only a context, as ADK's clients answer questions. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { textOf, type Call, type Message, type Task } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import {
  createAgent,
  createHandler,
  memoryStore,
  type AgentExecutor,
  type RequestHandler,
  type TaskStore,
} from '../../src/tasks/index.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const STORES: readonly [string, (t: TestContext) => TaskStore][] = [
  ['memory', () => memoryStore()],
  [
    'sqlite',
    (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'parley-answers-'));
      t.after(() => rmSync(folder, { recursive: true }));
      return sqliteStore(join(folder, 'tasks.db'), { logger });
    },
  ],
];
const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

const asking = (answersByContext?: boolean) =>
  createAgent(
    {
      name: 'Asking',
      description: 'Asks',
      ...(answersByContext !== undefined && { answersByContext }),
    },
    async function* (ctx) {
      if (ctx.text === 'auth') yield (await ctx.ask('Who are you?', { auth: true })).text;
      else if (ctx.text === 'ask') yield `to ${(await ctx.ask('Where to?')).text}`;
      else yield `new: ${ctx.text}`;
    },
  );

function open(t: TestContext, executor: AgentExecutor, store?: TaskStore): RequestHandler {
  const handler = createHandler(executor, { logger, store });
  t.after(() => handler.close());
  return handler;
}

let made = 0;
function says(text: string, more: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, ...more };
}

async function send(handler: RequestHandler, message: Message, call?: Call): Promise<Task> {
  const result = await handler.sendMessage({ message }, call);
  assert.ok(result.kind === 'task');
  return result;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const textIn = ({ artifacts = [] }: Task) => artifacts.map(({ parts }) => textOf(parts)).join('');
const stateOf = async (handler: RequestHandler, id: string) =>
  (await handler.getTask({ id })).status.state;

for (const [name, store] of STORES) {
  test(`a message that names only the context answers the task that waits there (${name})`, async (t) => {
    const handler = open(t, asking(true), store(t));
    const { id, contextId } = await send(handler, says('ask'));
    const reply = says('Rome', { contextId });
    const done = await send(handler, reply);
    assert.deepEqual([done.id, done.status.state, textIn(done)], [id, 'completed', 'to Rome']);
    // The same message again finds the same task.
    assert.equal((await send(handler, reply)).id, id);
    // Nothing waits any more, so the next message starts a task.
    const next = await send(handler, says('Rome', { contextId }));
    assert.deepEqual([next.id === id, textIn(next)], [false, 'new: Rome']);
  });

  test(`such an answer is streamed, and accepted without waiting for the end (${name})`, async (t) => {
    const handler = open(t, asking(true), store(t));
    const first = await send(handler, says('ask'));
    const { contextId } = first;
    const stream = await handler.streamMessage({ message: says('Rome', { contextId }) });
    const events = (await all(stream)).map(({ event }) => event);
    assert.ok(events[0]?.kind === 'task' && events[0].id === first.id);
    assert.ok(events.at(-1)?.kind === 'status-update');
    const second = await send(handler, says('ask', { contextId }));
    const message = says('Oslo', { contextId });
    const configuration = { blocking: false };
    const taken = await handler.sendMessage({ message, configuration });
    assert.ok(taken.kind === 'task' && taken.id === second.id);
  });

  test(`it starts a task of its own in every other case (${name})`, async (t) => {
    const ann = { user: { id: 'ann' } };
    const answers = new Set(['x', 'Rome']);
    const answersByContext: AgentExecutor['answersByContext'] = ({ message }) =>
      answers.has(textOf(message.parts));
    const handler = open(t, { ...asking(), answersByContext }, store(t));
    const { id, contextId } = await send(handler, says('ask'), ann);
    const started = async (message: Message, call: Call) =>
      (await send(handler, message, call)).id !== id;
    assert.ok(await started(says('x', { contextId }), {}), 'without a user');
    assert.ok(await started(says('x', { contextId }), { user: { id: 'bob' } }), 'of another user');
    const elsewhere = { user: { id: 'ann', tenant: 'other' } };
    assert.ok(await started(says('x', { contextId }), elsewhere), 'of another tenant');
    assert.ok(await started(says('x', { contextId: 'other' }), ann), 'in another context');
    assert.ok(await started(says('x'), ann), 'without a context');
    const second = await send(handler, says('auth', { contextId }), ann);
    assert.ok(await started(says('x', { contextId }), ann), 'if two tasks wait');
    await handler.cancelTask({ id: second.id }, ann);
    const last = await send(handler, says('Rome', { contextId }), ann);
    assert.equal(last.id, id, 'one task waits again, and this is its answer');
  });

  test(`of answers at the same time one counts, and the others start tasks (${name})`, async (t) => {
    const handler = open(t, asking(true), store(t));
    const parameters = { numRuns: 30 };
    const replies = fc.array(fc.record({ id: fc.nat(3), pause: fc.nat(4), stream: fc.boolean() }), {
      minLength: 2,
      maxLength: 6,
    });
    const cancel = fc.option(fc.nat(4), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(replies, cancel, async (given, cancelAfter) => {
        const { id, contextId } = await send(handler, says('ask'));
        const round = ++made;
        const canceling =
          cancelAfter !== undefined &&
          turns(cancelAfter).then(() => handler.cancelTask({ id }).catch(() => undefined));
        const outcomes = await Promise.all(
          given.map(async ({ id: number, pause, stream }) => {
            await turns(pause);
            const messageId = `reply ${round}.${number}`;
            const message = says(`city ${number}`, { contextId, messageId });
            if (!stream) return { messageId, task: (await send(handler, message)).id };
            const events = await all(await handler.streamMessage({ message }));
            const [first] = events;
            assert.ok(first?.event.kind === 'task');
            return { messageId, task: first.event.id };
          }),
        );
        await canceling;
        const tasks = new Map<string, string>();
        for (const { messageId, task } of outcomes) {
          assert.equal(tasks.get(messageId) ?? task, task, 'copies of a message find one task');
          tasks.set(messageId, task);
        }
        const answers = [...tasks.values()].filter((task) => task === id).length;
        assert.ok(answers <= 1, 'one answer counts');
        if (cancelAfter === undefined) assert.equal(answers, 1);
        const { history = [], status } = await handler.getTask({ id });
        assert.equal(history.filter(({ role }) => role === 'user').length, 1 + answers);
        if (answers === 0) assert.equal(status.state, 'canceled');
        // Every message is in exactly one task.
        const { tasks: listed } = await handler.listTasks({ contextId, historyLength: 10 });
        const heard = listed.flatMap((task) => task.history ?? []);
        for (const messageId of tasks.keys()) {
          assert.equal(heard.filter((each) => each.messageId === messageId).length, 1);
        }
      }),
      parameters,
    );
  });
}

test('by default, a message that names only the context starts a task', async (t) => {
  for (const executor of [asking(), asking(false)]) {
    const handler = open(t, executor);
    const { id, contextId } = await send(handler, says('ask'));
    assert.notEqual((await send(handler, says('Rome', { contextId }))).id, id);
    assert.equal(await stateOf(handler, id), 'input-required');
  }
});

test('the executor decides, and only about tasks that wait', async (t) => {
  const asked: string[] = [];
  const handler = open(t, {
    ...asking(),
    answersByContext({ message }, task) {
      asked.push(`${task.status.state} ${textOf(message.parts)}`);
      return textOf(message.parts) === 'yes';
    },
  });
  const { id, contextId } = await send(handler, says('ask'));
  assert.notEqual((await send(handler, says('maybe', { contextId }))).id, id);
  assert.equal(await stateOf(handler, id), 'input-required');
  assert.equal((await send(handler, says('yes', { contextId }))).id, id);
  assert.notEqual((await send(handler, says('yes', { contextId }))).id, id);
  assert.deepEqual(asked, ['input-required maybe', 'input-required yes']);
});
