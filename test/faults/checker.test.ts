/** The checker of the fault tests finds each kind of violation, and those of a cluster without fencing. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { TaskEvent } from '../../src/protocol/index.ts';
import { postgresStore } from '../../src/store/index.ts';
import { createHandler, type AgentExecutor, type TaskStore } from '../../src/tasks/index.ts';
import { begin, clusterDatabase, silent } from '../cluster/nodes.ts';
import { within } from '../support/within.ts';
import { check, emptyHistory, type StoredTask } from './checker.ts';

function entry(seq: number, state: 'submitted' | 'working' | 'completed') {
  const status = { state };
  const base = { taskId: 't', contextId: 'c', status };
  const event: TaskEvent =
    seq === 1
      ? { kind: 'task', id: 't', contextId: 'c', status }
      : { kind: 'status-update', ...base, final: state === 'completed' };
  return { seq, event };
}

const good: StoredTask = {
  taskId: 't',
  seq: 3,
  state: 'completed',
  entries: [entry(1, 'submitted'), entry(2, 'working'), entry(3, 'completed')],
  messageIds: ['m'],
  toolRuns: 1,
  epoch: 1,
};

test('a run that keeps all promises has no violation', () => {
  const history = emptyHistory();
  history.acknowledged.push({ messageId: 'm', taskId: 't' });
  const events = [
    { seq: 2, about: 'status working' },
    { seq: 3, about: 'status completed' },
  ];
  history.streams.push({ taskId: 't', events, isWhole: true });
  const all = ['task', 'status working', 'status completed'];
  history.unnumbered.push({ taskId: 't', events: all, isWhole: true, isNew: true });
  const rest = ['task', 'status completed'];
  history.unnumbered.push({ taskId: 't', events: rest, isWhole: true, isNew: false });
  history.webhooks.push({ taskId: 't', configId: 'h', after: 1 });
  for (const seq of [2, 2, 3]) history.deliveries.push({ taskId: 't', configId: 'h', seq });
  assert.deepEqual(check(history, [good]), []);
});

const bad: Record<string, [Partial<StoredTask>, Partial<ReturnType<typeof emptyHistory>>]> = {
  'a gap in the sequence numbers': [{ entries: [good.entries[0]!, good.entries[2]!], seq: 2 }, {}],
  'two terminal events': [{ entries: [...good.entries, entry(4, 'completed')], seq: 4 }, {}],
  'a task that never ends': [{ entries: good.entries.slice(0, 2), seq: 2, state: 'working' }, {}],
  'a tool that ran twice': [{ toolRuns: 2 }, {}],
  'a lost message': [{}, { acknowledged: [{ messageId: 'other', taskId: 't' }] }],
  'a lost task': [{}, { acknowledged: [{ messageId: 'm', taskId: 'other' }] }],
  'an event that is not in the log': [
    {},
    { streams: [{ taskId: 't', events: [{ seq: 3, about: 'status failed' }], isWhole: false }] },
  ],
  'a stream with a gap': [
    {},
    {
      streams: [
        {
          taskId: 't',
          events: [
            { seq: 1, about: 'task' },
            { seq: 3, about: 'status completed' },
          ],
          isWhole: true,
        },
      ],
    },
  ],
  'a stream without ids that has a gap': [
    {},
    {
      unnumbered: [
        { taskId: 't', events: ['task', 'status completed'], isWhole: true, isNew: true },
      ],
    },
  ],
  'a task of a paused node that no other node took over': [{}, { paused: ['t'] }],
  'a webhook without an event': [
    {},
    {
      webhooks: [{ taskId: 't', configId: 'h', after: 1 }],
      deliveries: [{ taskId: 't', configId: 'h', seq: 2 }],
    },
  ],
};

for (const [what, [task, history]] of Object.entries(bad)) {
  test(`the checker finds ${what}`, () => {
    const found = check({ ...emptyHistory(), ...history }, [{ ...good, ...task }]);
    assert.notDeepEqual(found, []);
  });
}

const database = await clusterDatabase();
after(() => database.drop());

for (const isFenced of [true, false]) {
  const outcome = isFenced ? 'no violation' : 'a violation';
  const title = `the checker finds ${outcome} when two nodes execute a task with fencing ${isFenced ? 'on' : 'off'}`;
  test(title, async (t) => {
    const gates: PromiseWithResolvers<void>[] = [];
    let began = Promise.withResolvers<void>();
    const executor: AgentExecutor = {
      rules: { resumes: true },
      async *execute() {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        began.resolve();
        await gate.promise;
        yield { kind: 'status-update', state: 'completed' };
      },
    };
    const start = async () => {
      const store = await postgresStore(database.url, { logger: silent, poolSize: 4 });
      const used = isFenced ? store : unfenced(store);
      const handler = createHandler(executor, { store: used, logger: silent });
      await handler.recover();
      t.after(() => handler.close(0));
      return { handler, store };
    };
    const a = await start();
    const { id } = await begin(a.handler, 'go');
    await began.promise;
    began = Promise.withResolvers();
    await start();
    await database.query('DELETE FROM parley.nodes WHERE id = $1', [a.store.cluster.node]);
    await within('the takeover', began.promise);
    gates[1]!.resolve();
    const entries = () => a.store.read(id, 0, 100);
    while (!(await entries()).some(({ event }) => 'status' in event && isEnd(event))) {
      await setTimeout(10);
    }
    gates[0]!.resolve();
    await setTimeout(200);
    const log = await entries();
    const [row] = await database.query('SELECT seq FROM parley.tasks WHERE task_id = $1', [id]);
    const seq = Number(row?.['seq']);
    const state = 'completed';
    const task = { taskId: id, seq, state, entries: log, messageIds: [], toolRuns: 0, epoch: 2 };
    assert.equal(check(emptyHistory(), [task]).length > 0, !isFenced);
  });
}

function isEnd(event: TaskEvent): boolean {
  return event.kind === 'status-update' && event.status.state === 'completed';
}

/** A store that checks neither the epoch nor the sequence number of an append. */
function unfenced(store: TaskStore): TaskStore {
  const append: TaskStore['append'] = async (batch) => {
    const given = batch.map((one) => ({
      ...one,
      epoch: one.expected === 0 ? one.epoch : undefined,
    }));
    const outcomes = [...(await store.append(given))];
    for (const [at, outcome] of outcomes.entries()) {
      const one = given[at]!;
      const head = outcome === 'conflict' ? await store.head(one, one.taskId) : undefined;
      if (!head) continue;
      const entries = one.entries.map((each, index) => ({ ...each, seq: head.seq + 1 + index }));
      const [again = outcome] = await store.append([{ ...one, expected: head.seq, entries }]);
      outcomes[at] = again;
    }
    return outcomes;
  };
  // The methods of the store are not its own properties.
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
