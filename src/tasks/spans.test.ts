// Tasks that are sessions: whoever subscribes sees one turn after the other.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { textOf, type Message } from '../protocol/index.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler, type RequestHandler } from './handler.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function says(text: string, taskId: string): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, taskId };
}

/** Ends each turn in the state that it is told. */
const obedient: AgentExecutor = {
  receive: () => ({ continues: true }),
  async *execute({ message }) {
    const state = textOf(message.parts) as 'completed' | 'failed' | 'input-required';
    yield { kind: 'status-update', state };
  },
};

function open(t: TestContext, isSession: (taskId: string) => boolean): RequestHandler {
  const handler = createHandler({ ...obedient, rules: { isSession } }, { logger });
  t.after(() => handler.close());
  return handler;
}

/** The states that a stream shows, to its end. */
async function states(stream: Awaited<ReturnType<RequestHandler['subscribe']>>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { event } of stream) {
    if (event.kind === 'task' || event.kind === 'status-update') seen.push(event.status.state);
  }
  return seen;
}

test('a subscription goes on through turns and questions, to the turn that ends the task', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  const seen = states(await handler.subscribe({ id }));
  for (const state of ['completed', 'input-required', 'completed', 'failed']) {
    await handler.sendMessage({ message: says(state, id) });
  }
  const words =
    'submitted working completed working input-required working completed working failed';
  assert.deepEqual(await seen, words.split(' '));
});

test('one may subscribe between two turns, from now or behind an event', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  await handler.sendMessage({ message: says('completed', id) });
  const fromNow = states(await handler.subscribe({ id }));
  const fromEnd = states(await handler.subscribe({ id, after: 3 }));
  const fromStart = states(await handler.subscribe({ id, after: 0 }));
  await handler.sendMessage({ message: says('failed', id) });
  assert.deepEqual(await fromNow, ['completed', 'working', 'failed']);
  assert.deepEqual(await fromEnd, ['working', 'failed']);
  assert.deepEqual(await fromStart, ['submitted', 'working', 'completed', 'working', 'failed']);
});

test('the stream of a message ends with its turn', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  const stream = await handler.streamMessage({ message: says('completed', id) });
  assert.equal((await states(stream)).at(-1), 'completed');
});

test('a session that is over ends its subscriptions with the next turn, and takes no new ones', async (t) => {
  let live = true;
  const handler = open(t, () => live);
  const { id } = await handler.reserveTask({});
  const seen = states(await handler.subscribe({ id }));
  await handler.sendMessage({ message: says('completed', id) });
  live = false;
  await assert.rejects(handler.subscribe({ id }), { code: -32004 });
  await handler.sendMessage({ message: says('completed', id) });
  assert.deepEqual(await seen, ['submitted', 'working', 'completed', 'working', 'completed']);
});

test('a task that failed is over, live or not', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  await handler.sendMessage({ message: says('failed', id) });
  await assert.rejects(handler.subscribe({ id }), { code: -32004 });
});

test('a server that closes ends them', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  await handler.sendMessage({ message: says('completed', id) });
  const seen = states(await handler.subscribe({ id }));
  await handler.close();
  assert.deepEqual(await seen, ['completed']);
});

test('a subscription to one turn ends with it, although other turns followed, or where it waits', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  const turn = async (after: number) =>
    states(await handler.subscribe({ id, after }, {}, { oneTurn: true }));
  await handler.sendMessage({ message: says('input-required', id) });
  assert.deepEqual(await turn(1), ['working', 'input-required']);
  await handler.sendMessage({ message: says('completed', id) });
  await handler.sendMessage({ message: says('completed', id) });
  assert.deepEqual(await turn(1), ['working', 'input-required', 'working', 'completed']);
  assert.deepEqual(await turn(5), ['working', 'completed']);
});

test('a subscription to one turn that starts with the task ends where the turn waits, too', async (t) => {
  const handler = open(t, () => true);
  const { id } = await handler.reserveTask({});
  const turn = async () => states(await handler.subscribe({ id }, {}, { oneTurn: true }));
  const first = turn();
  await handler.sendMessage({ message: says('input-required', id) });
  assert.deepEqual(await first, ['submitted', 'working', 'input-required']);
  await handler.sendMessage({ message: says('completed', id) });
  const second = turn();
  await handler.sendMessage({ message: says('completed', id) });
  assert.deepEqual(await second, ['completed', 'working', 'completed']);
});
