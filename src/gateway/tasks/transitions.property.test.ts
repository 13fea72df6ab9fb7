/** The table of states, through a real handler and its log: every pair of them, and executors that do as they like. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { type LogEntry, type Message, type Task, TaskState } from '../../protocol/index.ts';
import {
  type AgentExecutor,
  createHandler,
  memoryStore,
  type TaskStore,
} from '../../tasks/index.ts';
import { sqliteStore } from '../../store/sqlite.ts';
import { TRANSITIONS } from './transitions.ts';

const RUNS = process.env['PARLEY_TEST_LONG'] ? 2000 : 150;

/** The table once more, as the document has it; a row's state, and what may follow. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'input-required', 'canceled'],
  'input-required': ['working', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
};
const SIX = Object.keys(TABLE) as TaskState[];
/** How a task gets into each. */
const WAY: Readonly<Record<string, readonly TaskState[]>> = {
  submitted: [],
  working: ['working'],
  'input-required': ['working', 'input-required'],
  completed: ['working', 'completed'],
  failed: ['working', 'failed'],
  canceled: ['canceled'],
};

const folder = mkdtempSync(join(tmpdir(), 'parley-transitions-'));
const stores: Record<string, TaskStore> = {
  memory: memoryStore(),
  sqlite: sqliteStore(join(folder, 'tasks.db')),
};
after(async () => {
  for (const store of Object.values(stores)) await store.close();
  rmSync(folder, { recursive: true });
});

const logger = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function says(extra: Partial<Message> = {}): Message {
  const parts = [{ kind: 'text' as const, text: 'go' }];
  return { kind: 'message', messageId: `message ${++made}`, role: 'user', parts, ...extra };
}

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

function handlerOf(store: TaskStore, inner: AgentExecutor) {
  const rules = { ...inner.rules, transitions: TRANSITIONS };
  return createHandler(
    { ...inner, rules },
    { store, logger, now: () => 0, limits: { graceMs: 5 } },
  );
}

/** The states of a log; one that stays is there once. */
function statesIn(entries: readonly LogEntry[]): TaskState[] {
  const states: TaskState[] = [];
  for (const { event } of entries) {
    if (event.kind === 'artifact-update') continue;
    if (event.status.state !== states.at(-1)) states.push(event.status.state);
  }
  return states;
}

/** As the table calls it. */
function named(state: TaskState): string {
  if (state === 'rejected') return 'failed';
  return state === 'auth-required' ? 'input-required' : state;
}

for (const [name, store] of Object.entries(stores)) {
  for (const from of SIX) {
    for (const to of SIX) {
      const allowed = TABLE[from]!.includes(to);
      test(`${name}: from ${from} to ${to}: ${allowed ? 'allowed' : 'refused'}`, async () => {
        assert.equal(TRANSITIONS[from]?.includes(to) === true, allowed);
        const arrived = Promise.withResolvers<void>();
        const handler = handlerOf(store, {
          async *execute({ turn }) {
            const script = turn.length > 1 ? [to] : [...WAY[from]!, to];
            for (const [at, state] of script.entries()) {
              if (at === WAY[from]!.length) arrived.resolve();
              // From outside, below.
              if (state === 'canceled') await new Promise(() => {});
              yield { kind: 'status-update', state };
            }
          },
        });
        const configuration = { blocking: false };
        const { id } = (await handler.sendMessage({ message: says(), configuration })) as Task;
        const settled = from === 'completed' || from === 'failed' || from === 'input-required';
        if (settled) for await (const _ of await handler.subscribe({ id, after: 1 }));
        else if (from !== 'canceled') await arrived.promise;
        // What a client can do: cancel and answer. The rest is the executor's to try, and it has.
        if (from === 'canceled') await handler.cancelTask({ id });
        if (to === 'canceled') await handler.cancelTask({ id }).catch(() => {});
        else await handler.sendMessage({ message: says({ taskId: id }) }).catch(() => {});
        if (!allowed || from === 'submitted') {
          // Whatever came of it has come to rest, or waits for nobody.
          await turns(3);
        }
        const { entries } = await handler.readLog({ id });
        const states = statesIn(entries);
        const path = ['submitted', ...WAY[from]!];
        assert.deepEqual(states.slice(0, path.length), path);
        assert.equal(states[path.length] === to, allowed, states.join(' → '));
        assertTable(entries);
        await handler.cancelTask({ id }).catch(() => {});
      });
    }
  }
}

/** Fails on a log that breaks the table, works without saying so, or repeats itself for nothing. */
function assertTable(entries: readonly LogEntry[]): void {
  let state: TaskState | undefined;
  const path: string[] = [];
  for (const { event } of entries) {
    if (event.kind === 'artifact-update') {
      assert.equal(state, 'working', `an artifact after ${path.join(' → ')}`);
      continue;
    }
    const next = event.status.state;
    path.push(next);
    if (state === undefined) {
      assert.equal(next, 'submitted');
    } else if (named(next) === named(state)) {
      const metadata = event.kind === 'status-update' ? event.metadata : undefined;
      const says = event.status.message !== undefined || metadata !== undefined;
      assert.ok(says && next === 'working', path.join(' → '));
    } else {
      assert.ok(TABLE[named(state)]?.includes(named(next)), path.join(' → '));
    }
    state = next;
  }
}

/** One thing that an executor does. */
type Step =
  | { readonly does: 'status'; readonly state: string; readonly content: number }
  | { readonly does: 'artifact' | 'throw' | 'return' | 'rubbish' | 'hang' }
  | { readonly does: 'pause'; readonly turns: number };

const status = fc.record({
  does: fc.constant('status' as const),
  state: fc.constantFrom(...TaskState.options, 'working', 'happy'),
  content: fc.nat({ max: 3 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: status },
  { weight: 2, arbitrary: fc.constant({ does: 'artifact' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('pause' as const),
      turns: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constantFrom('throw', 'return', 'rubbish', 'hang') }),
  },
);

/** Plays a script for each turn. What it yields may be anything: it is somebody else's program. */
function player(scripts: readonly (readonly Step[])[], resumes: boolean): AgentExecutor {
  return {
    rules: { resumes },
    receive: () => ({ expiresAt: 1 }),
    async *execute({ turn, signal }) {
      for (const each of scripts[turn.length - 1] ?? []) {
        if (each.does === 'throw') throw new Error('x');
        if (each.does === 'return') return;
        if (each.does === 'pause') await turns(each.turns);
        if (each.does === 'hang') {
          await new Promise((resolve) => {
            signal.addEventListener('abort', resolve, { once: true });
          });
        }
        if (each.does === 'rubbish') yield { kind: 'nonsense' } as never;
        if (each.does === 'artifact') {
          const parts = [{ kind: 'text' as const, text: 'x' }];
          yield { kind: 'artifact-update', artifact: { artifactId: 'a', parts } };
        }
        if (each.does === 'status') {
          const { state, content } = each;
          yield {
            kind: 'status-update',
            state: state as TaskState,
            ...(content === 1 && { message: 'well' }),
            ...(content === 2 && { metadata: { progress: 1 } }),
            // No message at all.
            ...(content === 3 && { message: { parts: [] } as never }),
          };
        }
      }
    },
  };
}

for (const [name, store] of Object.entries(stores)) {
  test(`${name}: no executor gets a log past the table, whatever is done to it meanwhile`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        fc.array(fc.tuple(fc.nat({ max: 6 }), fc.constantFrom('answer', 'cancel', 'expire')), {
          maxLength: 3,
        }),
        async (scripts, resumes, deeds) => {
          const handler = handlerOf(store, player(scripts, resumes));
          const configuration = { blocking: false };
          const sent = await handler.sendMessage({ message: says(), configuration });
          const { id } = sent as Task;
          // As long as somebody may read it, it is not removed.
          const reader = await handler.subscribe({ id, after: 0 });
          for (const [wait, deed] of deeds) {
            await turns(wait);
            if (deed === 'expire') await handler.expire({ keepMs: 1e15 });
            else if (deed === 'cancel') await handler.cancelTask({ id }).catch(() => {});
            else
              await handler
                .sendMessage({ message: says({ taskId: id }), configuration })
                .catch(() => {});
          }
          await turns(2);
          assertTable((await handler.readLog({ id })).entries);
          await handler.cancelTask({ id }).catch(() => {});
          const { entries } = await handler.readLog({ id });
          assertTable(entries);
          assert.equal(TABLE[named(statesIn(entries).at(-1)!)]?.length, 0);
          reader.close();
        },
      ),
      { numRuns: RUNS },
    );
  });

  test(`${name}: a task that its process left in the middle is ended by the table`, async () => {
    for (const state of ['submitted', 'working'] as const) {
      const taskId = `left ${state} ${name}`;
      const where = { tenant: '', owner: '', taskId, contextId: 'c' };
      const task: Task = {
        kind: 'task',
        id: taskId,
        contextId: 'c',
        status: { state: 'submitted' },
      };
      const first = { seq: 1, event: { ...task, history: [says()] } };
      await store.append([{ ...where, expected: 0, entries: [first] }]);
      if (state === 'working') {
        const event = {
          kind: 'status-update' as const,
          taskId,
          contextId: 'c',
          status: { state },
          final: false,
        };
        await store.append([{ ...where, expected: 1, entries: [{ seq: 2, event }] }]);
      }
      const handler = handlerOf(store, { async *execute() {} });
      await handler.recover();
      const { entries } = await handler.readLog({ id: taskId });
      assert.deepEqual(statesIn(entries), ['submitted', 'working', 'failed']);
    }
  });
}
