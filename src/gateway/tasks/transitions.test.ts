import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Message, Task } from '../../protocol/index.ts';
import {
  type AgentExecutor,
  createHandler,
  type ExecutorEvent,
  memoryStore,
} from '../../tasks/index.ts';
import { TRANSITIONS } from './transitions.ts';

const message: Message = {
  kind: 'message',
  messageId: 'm',
  role: 'user',
  parts: [{ kind: 'text', text: 'go' }],
};

/** What stands in the log of a task whose executor yields these, and what went to ours. */
async function logOf(...events: ExecutorEvent[]) {
  const errors: unknown[] = [];
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error: ({ err }: { err?: unknown }) => void errors.push(err),
  };
  const executor: AgentExecutor = {
    rules: { transitions: TRANSITIONS },
    async *execute() {
      yield* events;
    },
  };
  const store = memoryStore();
  const append = mock.method(store, 'append');
  const handler = createHandler(executor, { logger, store });
  const { id } = (await handler.sendMessage({ message })) as Task;
  const { entries } = await handler.readLog({ id });
  const states = entries.map(({ event }) =>
    event.kind === 'artifact-update' ? 'artifact' : event.status.state,
  );
  return { states, entries, errors, appends: append.mock.callCount() };
}

const artifact: ExecutorEvent = {
  kind: 'artifact-update',
  artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] },
};

test('who completes at once was working before, and both are stored together', async () => {
  const { states, appends } = await logOf({ kind: 'status-update', state: 'completed' });
  assert.deepEqual(states, ['submitted', 'working', 'completed']);
  assert.equal(appends, 2);
});

test('who says nothing at all was working before', async () => {
  assert.deepEqual((await logOf()).states, ['submitted', 'working', 'completed']);
});

test('who rejects a task, or asks for a login, was working before', async () => {
  const rejected = await logOf({ kind: 'status-update', state: 'rejected' });
  assert.deepEqual(rejected.states, ['submitted', 'working', 'rejected']);
  const asked = await logOf({ kind: 'status-update', state: 'auth-required' });
  assert.deepEqual(asked.states, ['submitted', 'working', 'auth-required']);
});

test('an artifact is made while the task is worked on', async () => {
  const { states } = await logOf(artifact, artifact);
  assert.deepEqual(states, ['submitted', 'working', 'artifact', 'artifact', 'completed']);
});

test('working again is said only by those who have something to say', async () => {
  const working = { kind: 'status-update', state: 'working' } as const;
  const { states, entries } = await logOf(
    working,
    working,
    { ...working, message: 'half way' },
    { ...working, metadata: { progress: 0.9 } },
  );
  assert.deepEqual(states, ['submitted', 'working', 'working', 'working', 'completed']);
  const [, , third, fourth] = entries.map(({ event }) => event);
  assert.ok(third?.kind === 'status-update' && third.status.message);
  assert.ok(fourth?.kind === 'status-update' && fourth.metadata);
});

test('what is said while the task is submitted is said as working', async () => {
  const submitted = { kind: 'status-update', state: 'submitted' } as const;
  const { states } = await logOf(submitted, { ...submitted, message: 'third in the queue' });
  assert.deepEqual(states, ['submitted', 'working', 'completed']);
});

test('a move that the table does not have fails the task, and our log knows which', async () => {
  const { states, entries, errors } = await logOf(
    { kind: 'status-update', state: 'working' },
    { kind: 'status-update', state: 'submitted' },
  );
  assert.deepEqual(states, ['submitted', 'working', 'failed']);
  assert.match(String(errors[0]), /from working to submitted/);
  assert.ok(!JSON.stringify(entries).includes('forbid'));
});
