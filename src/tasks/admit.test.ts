import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { A2AError, textOf, type Call, type Message, type Task } from '../protocol/index.ts';
import { sqliteStore } from '../store/sqlite.ts';
import type { AgentExecutor, ExecutorEvent } from './execution/executor.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';
import type { TaskStore } from './store/store.ts';

let made = 0;
function says(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Works until it is told `end`, and says what it was told. `once X` is taken once. */
function listener(): AgentExecutor {
  const ears = new Map<string, (text: string) => void>();
  return {
    receive({ message }, task) {
      if (!task) return undefined;
      const text = textOf(message.parts);
      const known = (task.history ?? []).some(({ parts }) => textOf(parts) === text);
      if (text.startsWith('once') && known) {
        throw new A2AError('unsupportedOperation', 'already resolved', { info: { by: 'alice' } });
      }
      const hear = ears.get(task.id);
      const metadata = { source: 'test' };
      return {
        metadata,
        brief: true,
        ...(hear && { deliver: (said) => hear(textOf(said.parts)) }),
      };
    },
    async *execute({ task, message, signal }): AsyncGenerator<ExecutorEvent> {
      if (textOf(message.parts) === 'wait') {
        yield { kind: 'status-update', state: 'input-required', message: 'and?' };
        return;
      }
      const heard: string[] = [];
      let wake = () => {};
      ears.set(task.id, (text) => {
        heard.push(text);
        wake();
      });
      signal.addEventListener('abort', () => wake());
      yield { kind: 'status-update', state: 'working' };
      while (!signal.aborted) {
        const text = heard.shift();
        if (text === 'end') break;
        if (text !== undefined) yield { kind: 'status-update', state: 'working', message: text };
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      ears.delete(task.id);
    },
  };
}

const STORES: [string, (t: TestContext) => TaskStore][] = [
  ['memory', () => memoryStore()],
  [
    'sqlite',
    (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'parley-admit-'));
      t.after(() => rmSync(folder, { recursive: true }));
      return sqliteStore(join(folder, 'tasks.db'));
    },
  ],
];

async function begin(handler: RequestHandler, text = 'go'): Promise<Task> {
  const configuration = { blocking: false };
  return (await handler.sendMessage({ message: says(text), configuration })) as Task;
}

for (const [name, open] of STORES) {
  function setUp(t: TestContext, executor = listener()) {
    const handler = createHandler(executor, { store: open(t), logger: silent });
    t.after(() => handler.close());
    return handler;
  }

  test(`a message to a running task reaches it, in the log and in order (${name})`, async (t) => {
    const handler = setUp(t);
    const { id } = await begin(handler);
    const words = ['one', 'two', 'three', 'four', 'five'];
    const configuration = { blocking: false };
    for (const text of words) {
      await handler.sendMessage({ message: says(text, { taskId: id }), configuration });
    }
    const task = (await handler.sendMessage({ message: says('end', { taskId: id }) })) as Task;
    assert.equal(task.status.state, 'completed');
    const said = (role: string) =>
      (task.history ?? [])
        .filter((message) => message.role === role)
        .map(({ parts }) => textOf(parts));
    assert.deepEqual(said('user'), ['go', ...words, 'end']);
    assert.deepEqual(said('agent'), words);
  });

  test(`of fifty that say the same at once, one is taken and the others hear why not (${name})`, async (t) => {
    const handler = setUp(t);
    const { id } = await begin(handler);
    const configuration = { blocking: false };
    const all = Array.from({ length: 50 }, () =>
      handler.sendMessage({ message: says('once', { taskId: id }), configuration }),
    );
    const outcomes = await Promise.allSettled(all);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.equal(refused.length, 49);
    for (const { reason } of refused) {
      assert.ok(reason instanceof A2AError);
      assert.deepEqual([reason.message, reason.detail.info], ['already resolved', { by: 'alice' }]);
    }
    const task = (await handler.sendMessage({ message: says('end', { taskId: id }) })) as Task;
    const taken = (task.history ?? []).filter(
      ({ role, parts }) => role === 'user' && textOf(parts) === 'once',
    );
    assert.equal(taken.length, 1);
  });

  for (const [what, isSlow] of [
    ['at once', false],
    ['slowly', true],
  ] as const) {
    test(`a message that comes several times at the same moment reaches a running task once, if the executor decides ${what} (${name})`, async (t) => {
      const executor = listener();
      const receive = executor.receive?.bind(executor);
      const handler = setUp(t, {
        ...executor,
        receive: isSlow ? async (...asked) => (await tick(), receive?.(...asked)) : receive,
      });
      const { id } = await begin(handler);
      const configuration = { blocking: false };
      const message = says('once', { taskId: id });
      const copies = Array.from({ length: 5 }, () =>
        handler.sendMessage({ message, configuration }),
      );
      const parts = [{ kind: 'text' as const, text: 'something else' }];
      const other = handler.sendMessage({ message: { ...message, parts }, configuration });
      await assert.rejects(other, { kind: 'invalidParams' });
      for (const copy of await Promise.all(copies)) {
        assert.ok(copy.kind === 'task' && copy.status.state === 'working');
      }
      const task = (await handler.sendMessage({ message: says('end', { taskId: id }) })) as Task;
      assert.equal(task.status.state, 'completed');
      const said = (task.history ?? [])
        .filter(({ role }) => role === 'user')
        .map(({ parts }) => textOf(parts));
      assert.deepEqual(said, ['go', 'once', 'end']);
    });
  }

  test(`what the executor adds stands beside the message, also for one that waits (${name})`, async (t) => {
    const handler = setUp(t);
    const { id } = await begin(handler, 'wait');
    const configuration = { blocking: false };
    await handler.sendMessage({ message: says('go on', { taskId: id }), configuration });
    const { entries } = await handler.readLog({ id });
    const event = entries.map(({ event }) => event).find(hasUsersMessage);
    assert.deepEqual(event?.kind === 'status-update' && event.metadata, { source: 'test' });
  });

  for (const [version, first] of [
    ['0.3', 'status-update'],
    ['1.0', 'task'],
  ] as const) {
    test(`a brief stream of ${version} begins with a ${first} (${name})`, async (t) => {
      const handler = setUp(t);
      const { id } = await begin(handler);
      const call: Call = { version };
      const params = { message: says('hello', { taskId: id }) };
      const stream = await handler.streamMessage(params, call);
      for await (const { event } of stream) {
        assert.equal(event.kind, first);
        if (event.kind === 'status-update') assert.equal(event.status.message?.role, 'agent');
        break;
      }
    });
  }

  test(`a message that nobody takes is refused as ever (${name})`, async (t) => {
    const handler = setUp(t, { ...listener(), receive: () => undefined });
    const { id } = await begin(handler);
    const params = { message: says('hello', { taskId: id }) };
    await assert.rejects(handler.sendMessage(params), /is being worked on/);
  });
}

function hasUsersMessage(event: { kind: string; status?: { message?: Message } }): boolean {
  return event.kind === 'status-update' && event.status?.message?.role === 'user';
}
