/** A cancellation that races the execution's own end: whoever wins, everybody sees the same one end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isTerminal, type StreamItem, type Task } from '../../protocol/index.ts';
import type { AgentExecutor } from './executor.ts';
import { createHandler, type RequestHandler } from '../handler.ts';
import { memoryStore } from '../store/memory-store.ts';
import type { Append, TaskStore } from '../store/store.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

type End = 'return' | 'complete' | 'throw' | 'fail' | 'ask' | 'hang';

/** Yields so many events, each after so many turns of the event loop, and ends in its own way. */
function executor(pauses: readonly number[], end: End, obeys: boolean): AgentExecutor {
  return {
    async *execute({ signal, turn }) {
      for (const [at, pause] of pauses.entries()) {
        await turns(pause);
        if (obeys && signal.aborted) return;
        const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: `${at}` }] };
        yield { kind: 'artifact-update', artifact, append: true };
      }
      if (end === 'throw') throw new Error('x');
      if (end === 'complete') yield { kind: 'status-update', state: 'completed' };
      if (end === 'fail') yield { kind: 'status-update', state: 'failed' };
      if (end === 'ask' && turn.length === 1)
        yield { kind: 'status-update', state: 'input-required' };
      if (end === 'hang') await new Promise(() => {});
    },
  };
}

/** A store whose writes take so many turns, as on a disk. */
function slowStore(pause: number): TaskStore {
  const inner = memoryStore();
  if (pause === 0) return inner;
  return new Proxy<TaskStore>(inner, {
    get(target, key) {
      if (key === 'durable') return true;
      if (key === 'append') {
        return async (batch: readonly Append[]) => {
          await turns(pause);
          return inner.append(batch);
        };
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function readAll(handler: RequestHandler, id: string, wait: number): Promise<StreamItem[]> {
  await turns(wait);
  const items: StreamItem[] = [];
  for await (const item of await handler.subscribe({ id, after: 0 })) items.push(item);
  const last = items.at(-1)?.event;
  // A reader ends where the task asks; the rest is behind that.
  if (last?.kind === 'status-update' && last.status.state === 'input-required') {
    const after = items.at(-1)!.seq!;
    for await (const item of await handler.subscribe({ id, after })) items.push(item);
  }
  return items;
}

test('a canceled task has one end, the same for every reader and every caller', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3), { maxLength: 6 }),
      fc.constantFrom<End[]>('return', 'complete', 'throw', 'fail', 'ask', 'hang'),
      fc.boolean(),
      fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }),
      fc.option(fc.nat(12)),
      fc.nat(2),
      async (pauses, end, obeys, cancels, readers, answer, disk) => {
        const options = { store: slowStore(disk), logger: silent, limits: { graceMs: 5 } };
        const handler = createHandler(executor(pauses, end, obeys), options);
        const message = {
          kind: 'message' as const,
          messageId: 'm',
          role: 'user' as const,
          parts: [{ kind: 'text' as const, text: 'x' }],
        };
        const configuration = { blocking: false };
        const { id } = (await handler.sendMessage({ message, configuration })) as Task;
        const reading = readers.map((wait) => readAll(handler, id, wait));
        const answering = turns(answer ?? 0)
          .then(() =>
            answer === null
              ? undefined
              : handler.sendMessage({ message: { ...message, messageId: 'm2', taskId: id } }),
          )
          .catch(() => {});
        const canceling = cancels.map((wait) => turns(wait).then(() => handler.cancelTask({ id })));
        const outcomes = await Promise.allSettled(canceling);
        await answering;
        // One that asked and got an answer afterwards may still be at it.
        await handler.cancelTask({ id }).catch(() => {});
        const logs = await Promise.all(reading);

        const { status } = await handler.getTask({ id });
        assert.ok(isTerminal(status.state), status.state);
        const { entries: truth } = await handler.readLog({ id });
        const ends = truth.filter(
          ({ event }) => event.kind === 'status-update' && isTerminal(event.status.state),
        );
        assert.equal(ends.length, 1);
        assert.equal(ends[0], truth.at(-1));
        for (const log of logs) assert.deepEqual(log, truth);
        for (const outcome of outcomes) {
          if (outcome.status === 'fulfilled') {
            assert.equal(outcome.value.status.state, 'canceled');
            assert.equal(status.state, 'canceled');
          } else {
            assert.equal((outcome.reason as { kind?: string }).kind, 'taskNotCancelable');
          }
        }
        assert.equal(handler.running, 0);
        await handler.close();
      },
    ),
    { numRuns: 150 },
  );
});
