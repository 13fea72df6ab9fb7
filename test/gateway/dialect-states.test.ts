// The table of states, whole: what may be sent to a task in each, and that a cancellation has one end for everybody.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentExecutor } from '../../src/tasks/index.ts';
import { startGateway } from '../support/gateway.ts';
import {
  foldedFrom,
  obedient,
  saying,
  start,
  STORES,
  taskOf,
  type Dialect,
  type Frame,
} from './dialect-support.ts';

interface Row {
  /** What brings a task into the state; the words of `obedient`. */
  readonly by: string;
  readonly status: string;
  readonly message: 200 | 409;
  readonly cancel: 200 | 409;
}

const TABLE: readonly Row[] = [
  { by: 'silent', status: 'submitted', message: 409, cancel: 200 },
  { by: 'hold', status: 'working', message: 409, cancel: 200 },
  { by: 'ask', status: 'input-required', message: 200, cancel: 200 },
  { by: 'auth', status: 'input-required', message: 200, cancel: 200 },
  { by: 'hello', status: 'completed', message: 409, cancel: 409 },
  { by: 'fail', status: 'failed', message: 409, cancel: 409 },
  { by: 'reject', status: 'failed', message: 409, cancel: 409 },
  { by: 'cancelled', status: 'cancelled', message: 409, cancel: 409 },
];

/** A task in the row's state. */
async function taskIn(dialect: Dialect, { by, status }: Row): Promise<string> {
  const following = await dialect.follow(saying(by === 'cancelled' ? 'hold' : by));
  const reached = (frame: Frame) =>
    frame.data.type !== 'artifact' &&
    frame.data.status === (by === 'cancelled' ? 'working' : status);
  const { taskId } = (await following.until(reached)).data;
  if (by === 'cancelled') await dialect.cancel(taskId);
  assert.equal(taskOf(await dialect.get(taskId)).status, status);
  return taskId;
}

for (const store of STORES) {
  for (const row of TABLE) {
    test(`a task that is ${row.status} (${row.by}, ${store}): message ${row.message}, cancel ${row.cancel}`, async (t) => {
      const dialect = start(t, obedient(), store);
      const body = (taskId: string) => saying('go on', { taskId });
      const spoken = await taskIn(dialect, row);
      const sent = await dialect.send(body(spoken));
      assert.equal(sent.status, row.message, sent.error);
      const streamed = await taskIn(dialect, row);
      if (row.message === 200) {
        const last = (await (await dialect.follow(body(streamed))).frames).at(-1);
        assert.equal(last?.data.type, 'completed');
        assert.equal(sent.task?.status, 'completed');
      } else {
        const refused = await dialect.refusedStream(body(streamed));
        assert.equal(refused.status, 409);
        for (const { error = '' } of [sent, refused]) {
          assert.ok(error.startsWith(`The task is ${row.status}`), error);
        }
        assert.equal(taskOf(await dialect.get(streamed)).status, row.status);
      }
      const toCancel = await taskIn(dialect, row);
      const canceled = await dialect.cancel(toCancel);
      assert.equal(canceled.status, row.cancel, canceled.error);
      if (row.cancel === 200) assert.equal(canceled.task?.status, 'cancelled');
      else assert.ok(canceled.error?.startsWith(`The task is already ${row.status}`));
      const after = row.cancel === 200 ? 'cancelled' : row.status;
      assert.equal(taskOf(await dialect.get(toCancel)).status, after);
    });
  }
}

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

/** Works for so many turns of the event loop, and completes. */
function busyFor(pause: number, obeys: boolean): AgentExecutor {
  return {
    async *execute({ signal }) {
      yield { kind: 'status-update', state: 'working' };
      for (let n = 0; n < pause; n++) {
        await turns(1);
        if (obeys && signal.aborted) return;
      }
      yield { kind: 'status-update', state: 'completed' };
    },
  };
}

const ENDS = new Set(['completed', 'failed', 'cancelled']);

for (const store of STORES) {
  test(`a cancellation that races the end has one winner, the same for everybody (${store})`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(8),
        fc.boolean(),
        fc.array(fc.nat(8), { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
        async (pause, obeys, cancels, readers) => {
          const dialect = start(t, busyFor(pause, obeys), store);
          const first = await dialect.follow(saying('go'));
          const { taskId } = (await first.until(({ id }) => id === 1)).data;
          const canceling = cancels.map(async (wait) => {
            await turns(wait);
            return dialect.cancel(taskId);
          });
          const reading = readers.map(async (wait) => {
            await turns(wait);
            return (await dialect.follow({ taskId })).frames;
          });
          const streams = [await first.frames, ...(await Promise.all(reading))];
          const answers = await Promise.all(canceling);
          const task = taskOf(await dialect.get(taskId));
          assert.ok(ENDS.has(task.status));
          for (const frames of streams) {
            assert.equal(frames.filter(({ data }) => ENDS.has(data.type)).length, 1);
            assert.deepEqual(foldedFrom(frames), task);
          }
          for (const answer of answers) {
            if (task.status === 'cancelled' && answer.status === 200) {
              assert.deepEqual(answer.task, task);
            } else {
              assert.equal(answer.status, 409);
              assert.match(answer.error ?? '', new RegExp(`^The task is already ${task.status}`));
            }
          }
        },
      ),
      { numRuns: 40, endOnFailure: true },
    );
  });
}

test('over A2A the answer of a model is said once, as an artifact with its usage; the dialect has it in the last message too', async () => {
  await using gateway = await startGateway();
  const key = gateway.key();
  for (const [version, path] of [
    ['0.3', '/v1/message:send'],
    ['1.0', '/message:send'],
  ] as const) {
    const parts = [version === '1.0' ? { text: 'Hello' } : { kind: 'text', text: 'Hello' }];
    const role = version === '1.0' ? 'ROLE_USER' : 'user';
    const message = { messageId: `m${version}`, role, parts };
    const sent = await gateway.ask(key, 'POST', path, { message }, { 'a2a-version': version });
    const body = (await sent.json()) as { task?: Answered } & Answered;
    const task = body.task ?? body;
    assert.equal(task.status.message, undefined);
    const [artifact, ...others] = task.artifacts;
    assert.deepEqual([artifact?.parts.length, others], [1, []]);
    assert.ok(Number.isInteger(artifact?.metadata.usage.inputTokens));

    const seen = await gateway.ask(key, 'GET', `/a2a/tasks/${task.id}`);
    const { task: same } = (await seen.json()) as { task: { history: { content: string }[] } };
    assert.equal(same.history.at(-1)?.content, artifact?.parts[0]?.text);
  }
});

interface Answered {
  readonly id: string;
  readonly status: { readonly message?: object };
  readonly artifacts: readonly {
    readonly parts: readonly { readonly text: string }[];
    readonly metadata: { readonly usage: { readonly inputTokens: number } };
  }[];
}
