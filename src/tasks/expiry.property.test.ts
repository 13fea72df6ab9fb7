/** An expiry that races a cancellation, an answer and the execution's own end: everybody sees the same one end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { isTerminal, type Message, type StreamItem, type Task } from '../protocol/index.ts';
import { sqliteStore } from '../store/sqlite.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { createHandler, type RequestHandler } from './handler.ts';
import { memoryStore } from './store/memory-store.ts';
import type { Append, TaskStore } from './store/store.ts';

const RUNS = process.env['PARLEY_TEST_LONG'] ? 2000 : 120;
const KEEP = 1e12;
const logger = { debug() {}, info() {}, warn() {}, error() {} };

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

type End = 'complete' | 'fail' | 'throw' | 'ask' | 'hang';

/** Works so long, and ends in its own way; or says nothing at all until it is over. */
function executor(pause: number, end: End, obeys: boolean, silent: boolean): AgentExecutor {
  return {
    receive: () => ({ expiresAt: 1 }),
    async *execute({ signal, turn }) {
      if (!silent) yield { kind: 'status-update', state: 'working' };
      await turns(pause);
      if (obeys && signal.aborted) return;
      if (end === 'fail') yield { kind: 'status-update', state: 'failed' };
      if (end === 'throw') throw new Error('x');
      if (end === 'ask' && turn.length === 1) {
        yield { kind: 'status-update', state: 'input-required' };
      }
      if (end === 'hang') await new Promise(() => {});
    },
  };
}

/** Writes take a few turns, as they would elsewhere. */
function slow(inner: TaskStore): TaskStore {
  return new Proxy(inner, {
    get(target, key) {
      if (key === 'durable') return true;
      if (key === 'append') {
        return async (batch: readonly Append[]) => {
          await turns(2);
          return inner.append(batch);
        };
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const folder = mkdtempSync(join(tmpdir(), 'parley-expiry-race-'));
const stores: Record<string, TaskStore> = {
  memory: memoryStore(),
  'a slow store': slow(memoryStore()),
  sqlite: sqliteStore(join(folder, 'tasks.db')),
};
after(async () => {
  for (const store of Object.values(stores)) await store.close();
  rmSync(folder, { recursive: true });
});

let made = 0;
function says(extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text: 'x' }];
  return { kind: 'message', messageId: `m${++made}`, role: 'user', parts, ...extra };
}

/** The whole log, by a reader that begins so late and dawdles at each event. */
async function readAll(
  handler: RequestHandler,
  id: string,
  [wait, dawdle]: readonly [number, number],
): Promise<StreamItem[]> {
  await turns(wait);
  const items: StreamItem[] = [];
  let settled = false;
  while (!settled) {
    const after = items.at(-1)?.seq ?? 0;
    for await (const item of await handler.subscribe({ id, after })) {
      items.push(item);
      await turns(dawdle);
    }
    // A stream ends where the task asks; the rest is behind that.
    const last = items.at(-1)?.event;
    settled = last?.kind === 'status-update' && isTerminal(last.status.state);
  }
  return items;
}

for (const [name, store] of Object.entries(stores)) {
  test(`${name}: a task that expires has one end, the same for everybody`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(8),
        fc.constantFrom<End[]>('complete', 'fail', 'throw', 'ask', 'hang'),
        fc.boolean(),
        fc.boolean(),
        fc.array(fc.nat(10), { minLength: 1, maxLength: 2 }),
        fc.array(fc.nat(10), { maxLength: 2 }),
        fc.option(fc.nat(10)),
        fc.array(fc.tuple(fc.nat(10), fc.nat(3)), { minLength: 1, maxLength: 4 }),
        async (pause, end, obeys, silent, expiries, cancels, answer, readers) => {
          const agent = executor(pause, end, obeys, silent);
          const handler = createHandler(agent, {
            store,
            logger,
            now: () => 0,
            limits: { graceMs: 5 },
          });
          const configuration = { blocking: false };
          const { id } = (await handler.sendMessage({ message: says(), configuration })) as Task;
          // As long as somebody may read it, it is not removed.
          const holder = await handler.subscribe({ id, after: 0 });
          const reading = readers.map((pace) => readAll(handler, id, pace));
          const expiring = expiries.map((wait) =>
            turns(wait).then(() => handler.expire({ keepMs: KEEP })),
          );
          const canceling = Promise.allSettled(
            cancels.map((wait) => turns(wait).then(() => handler.cancelTask({ id }))),
          );
          const answering = turns(answer ?? 0).then(() =>
            answer === null
              ? undefined
              : handler.sendMessage({ message: says({ taskId: id }), configuration }),
          );
          await Promise.allSettled([...expiring, answering]);
          const outcomes = await canceling;

          const { status } = await handler.getTask({ id });
          assert.ok(isTerminal(status.state), status.state);
          const { entries: truth } = await handler.readLog({ id });
          const ends = truth.filter(
            ({ event }) => event.kind === 'status-update' && isTerminal(event.status.state),
          );
          assert.equal(ends.length, 1);
          assert.equal(ends[0], truth.at(-1));
          const last = ends[0]?.event;
          assert.deepEqual(last?.kind === 'status-update' && last.status, status);
          for (const log of await Promise.all(reading)) {
            assert.deepEqual(
              log,
              truth.map(({ seq, event }) => ({ seq, event })),
            );
          }
          for (const outcome of outcomes) {
            if (outcome.status === 'fulfilled') assert.equal(status.state, 'canceled');
            else assert.equal((outcome.reason as { kind?: string }).kind, 'taskNotCancelable');
          }
          assert.equal(handler.running, 0);
          holder.close();
        },
      ),
      { numRuns: RUNS },
    );
  });
}
