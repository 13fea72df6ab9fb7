/** A task has one writer. The tasks of a node that is gone are taken over, and this node can no longer write. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  createAgent,
  type AgentExecutor,
  type Deliver,
  type ExecutionContext,
} from '../../src/tasks/index.ts';
import { within } from '../support/within.ts';
import {
  all,
  begin,
  clusterDatabase,
  says,
  silent,
  startNode,
  textOfTask,
  type TestNode,
} from './nodes.ts';

const database = await clusterDatabase();
after(() => database.drop());

/** What another node does when it finds that a node is gone. The node itself learns of it when it renews its lease. */
async function declareGone(node: TestNode): Promise<void> {
  await database.query('DELETE FROM parley.nodes WHERE id = $1', [node.id]);
}

/** Executors of one agent, whose executions the test controls. */
function controlled(resumes: boolean) {
  const contexts: ExecutionContext[] = [];
  let waiting = Promise.withResolvers<void>();
  const executions = async (count: number): Promise<ExecutionContext> => {
    while (contexts.length < count) await within('an execution', waiting.promise);
    return contexts[count - 1]!;
  };
  const gates: PromiseWithResolvers<string>[] = [];
  const executor: AgentExecutor = {
    rules: { resumes },
    async *execute(context) {
      const gate = Promise.withResolvers<string>();
      gates.push(gate);
      contexts.push(context);
      waiting.resolve();
      waiting = Promise.withResolvers();
      yield { kind: 'status-update', state: 'working', message: `run ${contexts.length}` };
      yield { kind: 'status-update', state: 'completed', message: await gate.promise };
    },
  };
  return { executor, executions, finish: (at: number, text: string) => gates[at]?.resolve(text) };
}

test('a node that is taken for dead cannot write, and another node resumes its task', async (t) => {
  const { executor, executions, finish } = controlled(true);
  const a = await startNode(t, database.url, executor);
  const { id } = await begin(a.handler, 'go');
  const { signal } = await executions(1);
  const b = await startNode(t, database.url, executor);
  const atA = all(await a.handler.subscribe({ id }));
  await declareGone(a);
  const resumed = await executions(2);
  assert.equal(resumed.resumed, true);
  assert.equal(resumed.task.id, id);
  // The first execution does not know yet that its node is gone.
  finish(0, 'from the old owner');
  await setTimeout(100);
  assert.equal((await b.handler.getTask({ id })).status.state, 'working');
  finish(1, 'from the new owner');
  const items = await within('the end of the stream at the old owner', atA);
  const last = items.at(-1)?.event;
  assert.ok(last?.kind === 'status-update' && last.status.message?.parts[0]?.kind === 'text');
  assert.equal(last.status.message.parts[0].text, 'from the new owner');
  assert.equal(signal.aborted, true);
  const { entries } = await a.handler.readLog({ id });
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, index) => index + 1),
  );
  const ends = entries.filter(({ event }) => event.kind === 'status-update' && event.final);
  assert.equal(ends.length, 1);
});

test('a node whose lease has ended stops its executions and joins again', async (t) => {
  const { executor, executions, finish } = controlled(true);
  const a = await startNode(t, database.url, executor, { cluster: { leaseMs: 400 } });
  const { id } = await begin(a.handler, 'go');
  const { signal } = await executions(1);
  const before = a.id;
  await declareGone(a);
  const again = await executions(2);
  assert.equal(signal.aborted, true);
  assert.equal(again.task.id, id);
  assert.notEqual(a.id, before);
  finish(1, 'done');
});

test('an interrupted task of an agent that does not resume ends as failed', async (t) => {
  const { executor, executions } = controlled(false);
  const a = await startNode(t, database.url, executor);
  const { id } = await begin(a.handler, 'go');
  await executions(1);
  const b = await startNode(t, database.url, executor);
  const stream = all(await b.handler.subscribe({ id }));
  await declareGone(a);
  const last = (await within('the end', stream)).at(-1)?.event;
  assert.ok(last?.kind === 'status-update');
  assert.equal(last.status.state, 'failed');
  assert.match(JSON.stringify(last.status.message), /interrupted/);
});

test('a closed node hands its tasks over', async (t) => {
  const { executor, executions, finish } = controlled(true);
  const a = await startNode(t, database.url, executor);
  const b = await startNode(t, database.url, executor);
  const { id } = await begin(a.handler, 'go');
  await executions(1);
  const stream = all(await b.handler.subscribe({ id }));
  await a.handler.close(0);
  await executions(2);
  finish(1, 'done');
  const last = (await within('the end', stream)).at(-1)?.event;
  assert.ok(last?.kind === 'status-update' && last.status.state === 'completed');
});

test('a canceled task whose node is gone is canceled by the node that takes it over', async (t) => {
  const { executor, executions } = controlled(true);
  const a = await startNode(t, database.url, executor);
  const { id } = await begin(a.handler, 'go');
  await executions(1);
  const b = await startNode(t, database.url, executor);
  await declareGone(a);
  const canceled = await within('the cancellation', b.handler.cancelTask({ id }));
  assert.equal(canceled.status.state, 'canceled');
});

test('each event is delivered to a webhook by one node, in order, and by another one when that is gone', async (t) => {
  const seen: { node: string; seq: number }[] = [];
  let arrived = Promise.withResolvers<void>();
  const delivers = (node: string): Deliver => ({
    accept: (config) => ({ ...config, id: config.id ?? 'default' }),
    prepare:
      async ({ entry: { seq } }) =>
      async () => {
        seen.push({ node, seq });
        arrived.resolve();
        arrived = Promise.withResolvers();
        return 'taken';
      },
  });
  const gates = new Map<number, PromiseWithResolvers<void>>();
  const gate = (at: number) => {
    const found = gates.get(at) ?? Promise.withResolvers<void>();
    gates.set(at, found);
    return found;
  };
  const agent = createAgent(
    { name: 'Steps', description: 'Steps', resumes: true },
    async function* (ctx) {
      for (let at = 0; at < 3; at++) {
        yield `${at} `;
        await gate(at).promise;
        ctx.signal.throwIfAborted();
      }
    },
  );
  const a = await startNode(t, database.url, agent, { deliver: delivers('a') });
  const b = await startNode(t, database.url, agent, { deliver: delivers('b') });
  const { id } = await begin(a.handler, 'go');
  const url = 'https://hook.example/';
  await b.handler.setPushConfig({ taskId: id, pushNotificationConfig: { id: 'h', url } });
  gate(0).resolve();
  while (seen.length < 1) await within('an event', arrived.promise);
  assert.deepEqual(new Set(seen.map(({ node }) => node)), new Set(['b']));
  await b.handler.close(0);
  gate(1).resolve();
  gate(2).resolve();
  while (!seen.some(({ node }) => node === 'a')) await within('an event', arrived.promise);
  const end = async () => (await a.handler.readLog({ id })).entries.at(-1)!;
  for (;;) {
    const next = arrived.promise;
    const { event, seq } = await end();
    if (event.kind === 'status-update' && seen.at(-1)?.seq === seq) break;
    await within('the last event', next);
  }
  const seqs = seen.map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((x, y) => x - y),
  );
});

test('410 from the previous address does not remove the webhook that another node has just saved', async (t) => {
  const finish = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const deliver: Deliver = {
    accept: (config) => ({ ...config, id: config.id ?? 'default' }),
    prepare:
      async ({ record: { config }, entry: { event } }) =>
      async () => {
        if (config.url.includes('old')) return 'gone';
        if (event.kind === 'status-update' && event.final) ended.resolve();
        return 'taken';
      },
  };
  const agent = createAgent({ name: 'Waiting', description: 'Waits' }, async function* () {
    yield 'one';
    await finish.promise;
  });
  const a = await startNode(t, database.url, agent, { deliver });
  const b = await startNode(t, database.url, agent, { deliver });
  const removed = Promise.withResolvers<void>();
  // Either node may deliver the events.
  const replaceBeforeRemoval = ({ store }: TestNode, other: TestNode) => {
    const remove = store.deletePush.bind(store);
    store.deletePush = async (taskId, ...webhook) => {
      const replaced = { id: 'h', url: 'https://new.example/' };
      await other.handler.setPushConfig({ taskId, pushNotificationConfig: replaced });
      await remove(taskId, ...webhook);
      removed.resolve();
    };
  };
  replaceBeforeRemoval(a, b);
  replaceBeforeRemoval(b, a);
  const pushNotificationConfig = { id: 'h', url: 'https://old.example/' };
  const configuration = { blocking: false, pushNotificationConfig };
  const started = await a.handler.sendMessage({ message: says('go'), configuration });
  assert.ok(started.kind === 'task');
  await within('the removal', removed.promise);
  const configs = await b.handler.listPushConfigs({ id: started.id });
  assert.deepEqual(
    configs.map((config) => config.pushNotificationConfig.url),
    ['https://new.example/'],
  );
  finish.resolve();
  await within('the last event at the new address', ended.promise);
});

test('an answer to a task whose last owner is gone continues the task', async (t) => {
  const asker = () =>
    createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
      yield (await ctx.ask('which?')).text;
    });
  const a = await startNode(t, database.url, asker());
  const asked = await a.handler.sendMessage({ message: says('go') });
  assert.ok(asked.kind === 'task' && asked.status.state === 'input-required');
  const b = await startNode(t, database.url, asker());
  await declareGone(a);
  const done = await b.handler.sendMessage({ message: says('this', { taskId: asked.id }) });
  assert.ok(done.kind === 'task' && done.status.state === 'completed');
  assert.equal(textOfTask(done), 'this');
});

test('a notification that is not a hint, or a check that comes late, does not end a node', async (t) => {
  const agent = createAgent({ name: 'Echo', description: 'Echo' }, async function* () {
    yield 'done';
  });
  const { handler, store } = await startNode(t, database.url, agent);
  while (!store.cluster.stats().listens) await new Promise(setImmediate);
  const { node } = store.cluster;
  for (const payload of [
    'ping of an earlier session',
    'no JSON',
    'null',
    '{"changed":1}',
    '{"changed":[null]}',
    '{"push":["ab"]}',
    // Only live nodes can follow tasks.
    '{"follow":[null],"from":"x"}',
    '{"follow":["x"],"from":"x"}',
    `{"follow":[null],"from":"${node}"}`,
  ]) {
    await database.query('SELECT pg_notify($1, $2)', [`parley_${store.cluster.node}`, payload]);
  }
  const task = await handler.sendMessage({ message: says('go') });
  assert.ok(task.kind === 'task' && task.status.state === 'completed');
});

test('a request to another node ends when its signal is aborted, also while it is being stored', async (t) => {
  const agent = createAgent({ name: 'Echo', description: 'Echo' }, async function* () {
    yield 'done';
  });
  const a = await startNode(t, database.url, agent);
  const b = await startNode(t, database.url, agent);
  // The other node never answers.
  await database.query('UPDATE parley.nodes SET id = $1 WHERE id = $2', ['silent', b.id]);
  const controller = new AbortController();
  const asked = a.store.cluster.ask('silent', 'anything', controller.signal);
  controller.abort(new Error('no longer needed'));
  await assert.rejects(within('the end of the request', asked), /no longer needed/);
});

test('a client that leaves while another node handles its message is not logged as a failure of the store', async (t) => {
  const { executor, executions, finish } = controlled(true);
  const errors: unknown[] = [];
  const logger = { ...silent, error: (...about: unknown[]) => void errors.push(about) };
  const a = await startNode(t, database.url, executor);
  const b = await startNode(t, database.url, executor, { logger });
  const { id: taskId } = await begin(a.handler, 'go');
  await executions(1);
  const asked = Promise.withResolvers<void>();
  t.mock.method(b.store.cluster, 'ask', (_node: string, _request: string, signal: AbortSignal) => {
    asked.resolve();
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  const controller = new AbortController();
  const message = says('more', { taskId });
  const sent = b.handler.sendMessage({ message }, { signal: controller.signal });
  await within('the request to the other node', asked.promise);
  controller.abort(new Error('the client has left'));
  await assert.rejects(sent, /the client has left/);
  assert.deepEqual(errors, []);
  finish(0, 'done');
});
