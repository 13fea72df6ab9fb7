/** Nodes whose statements fail, and tasks that several nodes use at the same time. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { StoreError } from '../../src/base/index.ts';
import { channelOf } from '../../src/store/postgres/membership.ts';
import { textOf } from '../../src/protocol/index.ts';
import { createAgent, type AgentExecutor, type Deliver } from '../../src/tasks/index.ts';
import { within } from '../support/within.ts';
import { all, begin, clusterDatabase, says, startNode } from './nodes.ts';

const database = await clusterDatabase();
after(() => database.drop());

/** An executor that counts its executions. `work` returns the text of the artifact of an execution. */
function counting(work: (run: number) => Promise<string>) {
  let runs = 0;
  const executor: AgentExecutor = {
    rules: { resumes: true },
    async *execute() {
      const run = ++runs;
      yield { kind: 'status-update', state: 'working' };
      const text = await work(run);
      const artifact = { artifactId: `a${run}`, parts: [{ kind: 'text' as const, text }] };
      yield { kind: 'artifact-update', artifact };
      yield { kind: 'status-update', state: 'completed' };
    },
  };
  return { executor, runs: () => runs };
}

test('a task that cannot be stored because the disk is full is executed again when there is room', async (t) => {
  const { executor, runs } = counting(async () => 'x'.repeat(3000));
  const { handler, store } = await startNode(t, database.url, executor);
  // There is still room for small entries.
  await database.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON parley.events FOR EACH ROW
      WHEN (length(NEW.json) > 2000) EXECUTE FUNCTION refuse()`);
  const probed = Promise.withResolvers<void>();
  const hasRoom = Promise.withResolvers<void>();
  const probe = store.probe.bind(store);
  store.probe = async () => {
    probed.resolve();
    await hasRoom.promise;
    await probe();
  };
  const { id } = await begin(handler, 'go');
  await within('the check for room', probed.promise);
  assert.equal(runs(), 1);
  const message = says('and?', { taskId: id });
  await assert.rejects(handler.sendMessage({ message }), { kind: 'unavailable' });
  await database.query('DROP FUNCTION refuse CASCADE');
  const stream = await handler.subscribe({ id });
  hasRoom.resolve();
  await within('the end', all(stream));
  assert.equal((await handler.getTask({ id })).status.state, 'completed');
  assert.equal(runs(), 2);
});

test('a task whose execution was lost because the store failed can be canceled at once', async (t) => {
  const lost = Promise.withResolvers<string>();
  const { executor, runs } = counting(() => lost.promise);
  const { handler, store } = await startNode(t, database.url, executor);
  const { id } = await begin(handler, 'go');
  const stream = await handler.subscribe({ id });
  const append = store.append.bind(store);
  const failing = t.mock.method(store, 'append', async (batch: Parameters<typeof append>[0]) => {
    if (batch.some(({ expected }) => expected === 2)) throw new StoreError('a bug');
    return append(batch);
  });
  lost.resolve('too much');
  await within('the end of the stream', all(stream));
  failing.mock.restore();
  const canceled = await handler.cancelTask({ id });
  assert.equal(canceled.status.state, 'canceled');
  assert.equal(runs(), 1);
});

test('a takeover that fails is tried again', async (t) => {
  const first = Promise.withResolvers<string>();
  const again = Promise.withResolvers<void>();
  const { executor } = counting(async (run) => {
    if (run === 1) return first.promise;
    again.resolve();
    return 'done';
  });
  const a = await startNode(t, database.url, executor);
  const { id } = await begin(a.handler, 'go');
  const b = await startNode(t, database.url, executor);
  const read = b.store.read.bind(b.store);
  let failures = 0;
  b.store.read = async (...asked) => {
    if (failures++ === 0) throw new StoreError('connection terminated', { code: 'unavailable' });
    return read(...asked);
  };
  await a.handler.close(0);
  await within('the second attempt', again.promise);
  const stream = await b.handler.subscribe({ id, after: 0 });
  await within('the end', all(stream));
  assert.equal((await b.handler.getTask({ id })).status.state, 'completed');
  first.resolve('late');
});

test('a task that only its own node resumes is continued there after the store failed, or the lease ended', async (t) => {
  const works = [0, 1, 2].map(() => Promise.withResolvers<string>());
  const starts = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const { executor, runs } = counting((run) => {
    starts[run - 1]!.resolve();
    return works[run - 1]!.promise;
  });
  const own = { ...executor, rules: { resumes: () => true } };
  const { handler, store, id: before } = await startNode(t, database.url, own);
  const other = await startNode(t, database.url, { ...own, rules: { resumes: () => false } });
  const { id } = await begin(handler, 'go');
  const stream = await handler.subscribe({ id });
  const append = store.append.bind(store);
  const failing = t.mock.method(store, 'append', async (batch: Parameters<typeof append>[0]) => {
    if (batch.some(({ expected }) => expected === 2)) throw new StoreError('a bug');
    return append(batch);
  });
  works[0]!.resolve('too much');
  await within('the end of the stream', all(stream));
  failing.mock.restore();
  await within('the second execution', starts[1]!.promise);
  await database.query(`DELETE FROM parley.nodes WHERE id = '${before}'`);
  await within('the third execution', starts[2]!.promise);
  works[1]!.resolve('too late');
  works[2]!.resolve('done');
  const end = await other.handler.subscribe({ id, after: 0 });
  await within('the end', all(end));
  assert.equal((await other.handler.getTask({ id })).status.state, 'completed');
  assert.equal(runs(), 3);
});

test('tasks that the full store refused are not waited for', async (t) => {
  const { executor } = counting(async () => 'done');
  const { handler, store } = await startNode(t, database.url, executor);
  const probes = t.mock.method(store, 'probe');
  const failing = t.mock.method(store, 'append', async () => {
    throw new StoreError('no room', { code: 'full' });
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (let n = 0; n < 20; n++) await assert.rejects(begin(handler, 'go'));
  t.mock.timers.tick(10_000);
  assert.equal(failing.mock.callCount(), 20);
  assert.equal(probes.mock.callCount(), 0);
});

test('a node looks for other tasks only once, even if it executes as many as it may take', async (t) => {
  const finish = Promise.withResolvers<string>();
  const { executor } = counting(() => finish.promise);
  const { handler, store } = await startNode(t, database.url, executor);
  for (let n = 0; n < 20; n++) await begin(handler, 'go');
  const takeOver = t.mock.method(store.cluster, 'takeOver');
  // After this, the node does not know which tasks it owns.
  store.cluster.release('unknown', 1);
  const hint = [channelOf(store.cluster.node), '{"orphans":true}'];
  while (!store.cluster.stats().listens) await new Promise(setImmediate);
  await database.query('SELECT pg_notify($1, $2)', hint);
  for (let n = 0; n < 40; n++) await database.query('SELECT 1');
  const calls = takeOver.mock.callCount();
  assert.ok(calls > 0 && calls < 5, `${calls} calls`);
  finish.resolve('done');
});

const deliver: Deliver = {
  accept: (config) => ({ ...config, id: config.id ?? 'hook' }),
  prepare: async () => undefined,
};

test('a reserved task whose first message was refused is not claimed, and still waits', async (t) => {
  const { executor } = counting(async () => 'done');
  const a = await startNode(t, database.url, executor, { deliver });
  const { id } = await a.handler.reserveTask({});
  // Without a key for secrets, a webhook with a token is refused.
  const pushNotificationConfig = { url: 'https://hook.example/', token: 'secret' };
  await assert.rejects(
    a.handler.sendMessage({
      message: says('go', { taskId: id }),
      configuration: { pushNotificationConfig },
    }),
  );
  const [row] = await database.query('SELECT node FROM parley.tasks WHERE task_id = $1', [id]);
  assert.equal(row?.['node'], null);
  const done = await a.handler.sendMessage({ message: says('go', { taskId: id }) });
  assert.ok(done.kind === 'task' && done.status.state === 'completed');
});

test('a reserved task of a node that is gone waits for its first message at another node', async (t) => {
  const { executor, runs } = counting(async () => 'done');
  const a = await startNode(t, database.url, executor);
  const { id } = await a.handler.reserveTask({});
  // The node ended after it had claimed the task, and before it stored the message.
  await database.query(`UPDATE parley.tasks SET node = 'gone', epoch = 1 WHERE task_id = $1`, [id]);
  const b = await startNode(t, database.url, executor);
  for (const node of [a, b]) {
    assert.equal((await node.handler.getTask({ id })).status.state, 'submitted');
  }
  const done = await a.handler.sendMessage({ message: says('go', { taskId: id }) });
  assert.ok(done.kind === 'task' && done.status.state === 'completed');
  assert.equal(runs(), 1);
});

test('a message to a running task whose id another node uses for another task does not end the execution', async (t) => {
  const end = Promise.withResolvers<void>();
  const outcomes: Promise<string>[] = [];
  const executor: AgentExecutor = {
    receive: (_, task) =>
      task && {
        deliver: (_message, stored) =>
          void outcomes.push(
            stored.then(
              () => 'stored',
              () => 'refused',
            ),
          ),
      },
    async *execute({ message }) {
      yield { kind: 'status-update', state: 'working' };
      if (textOf(message.parts) === 'wait') {
        await end.promise;
        yield { kind: 'status-update', state: 'working', message: 'still here' };
      }
    },
  };
  const a = await startNode(t, database.url, executor);
  const b = await startNode(t, database.url, executor);
  const { id: taskId } = await begin(a.handler, 'wait');
  const find = a.store.findMessage.bind(a.store);
  // The other node stores the message after this node has looked for it.
  t.mock.method(
    a.store,
    'findMessage',
    async (...asked: Parameters<typeof find>) => {
      const found = await find(...asked);
      await b.handler.sendMessage({ message: says('one', { messageId: 'twice' }) });
      return found;
    },
    { times: 1 },
  );
  const message = says('two', { messageId: 'twice', taskId });
  const sent = a.handler.sendMessage({ message, configuration: { blocking: false } });
  await assert.rejects(sent, { kind: 'invalidParams' });
  assert.deepEqual(await Promise.all(outcomes), ['refused']);
  const configuration = { blocking: false };
  await a.handler.sendMessage({ message: says('three', { taskId }), configuration });
  const stream = await b.handler.subscribe({ id: taskId });
  end.resolve();
  await within('the end', all(stream));
  const task = await b.handler.getTask({ id: taskId });
  assert.equal(task.status.state, 'completed');
  assert.deepEqual(
    task.history?.map(({ parts }) => textOf(parts)),
    ['wait', 'three', 'still here'],
  );
  assert.deepEqual(await Promise.all(outcomes), ['refused', 'stored']);
});

test('a message that two nodes send to the node that executes its task reaches the task once', async (t) => {
  const end = Promise.withResolvers<void>();
  const heard: string[] = [];
  const executor: AgentExecutor = {
    receive: (_, task) =>
      task && { deliver: ({ parts }, stored) => void stored.then(() => heard.push(textOf(parts))) },
    async *execute() {
      yield { kind: 'status-update', state: 'working' };
      await end.promise;
    },
  };
  const [a, b, c] = [
    await startNode(t, database.url, executor),
    await startNode(t, database.url, executor),
    await startNode(t, database.url, executor),
  ];
  const { id: taskId } = await begin(a.handler, 'go');
  const message = says('once', { taskId });
  const configuration = { blocking: false };
  const copies = [a, b, c, b, a].map(({ handler }) =>
    handler.sendMessage({ message, configuration }),
  );
  for (const copy of await within('the answers', Promise.all(copies))) {
    assert.ok(copy.kind === 'task' && copy.status.state === 'working');
  }
  assert.deepEqual(heard, ['once']);
  end.resolve();
});

test('a task that the database creates after its node has given up the append is executed', async (t) => {
  const { executor } = counting(async () => 'done');
  const { handler, store } = await startNode(t, database.url, executor, {
    cluster: { leaseMs: 400 },
  });
  const append = store.append.bind(store);
  const late: Promise<unknown>[] = [];
  const commit = Promise.withResolvers<void>();
  const failing = t.mock.method(store, 'append', async (batch: Parameters<typeof append>[0]) => {
    // The connection is lost, and the statement waits for a lock.
    late.push(commit.promise.then(() => append(batch)));
    throw new StoreError('timeout', { code: 'unavailable' });
  });
  const message = says('go');
  await assert.rejects(handler.sendMessage({ message }), { kind: 'unavailable' });
  failing.mock.restore();
  const release = t.mock.method(store.cluster, 'release');
  while (release.mock.callCount() === 0) await setTimeout(20);
  // The node no longer assumes that there are tasks that it does not know about.
  await setTimeout(1300);
  commit.resolve();
  await Promise.all(late);
  const { tasks } = await handler.listTasks({});
  const id = tasks.at(-1)!.id;
  await within('the end', handler.subscribe({ id, after: 0 }).then(all));
  const repeated = await handler.sendMessage({ message });
  assert.ok(repeated.kind === 'task' && repeated.status.state === 'completed');
});

test('a task that its node has found late is not released while the node executes it', async (t) => {
  const finish = Promise.withResolvers<string>();
  const { executor, runs } = counting(() => finish.promise);
  const options = { cluster: { leaseMs: 1000 } };
  const { handler, store, id: node } = await startNode(t, database.url, executor, options);
  const append = store.append.bind(store);
  const commit = Promise.withResolvers<void>();
  const failing = t.mock.method(store, 'append', async (batch: Parameters<typeof append>[0]) => {
    void commit.promise.then(() => append(batch));
    throw new StoreError('timeout', { code: 'unavailable' });
  });
  const message = says('go');
  await assert.rejects(handler.sendMessage({ message }), { kind: 'unavailable' });
  failing.mock.restore();
  const release = t.mock.method(store.cluster, 'release');
  while (release.mock.callCount() === 0) await setTimeout(20);
  // By now, the database has answered that the task does not exist.
  for (let n = 0; n < 5; n++) await database.query('SELECT 1');
  commit.resolve();
  const hint = [channelOf(node), '{"orphans":true}'];
  while (runs() === 0) await database.query('SELECT pg_notify($1, $2)', hint);
  const leases = new Set<unknown>();
  while (leases.size < 4) {
    const [row] = await database.query('SELECT lease_until::text FROM parley.nodes WHERE id = $1', [
      node,
    ]);
    leases.add(String(row?.['lease_until']));
  }
  finish.resolve('done');
  const repeated = await handler.sendMessage({ message });
  assert.ok(repeated.kind === 'task' && repeated.status.state === 'completed');
  assert.equal(runs(), 1);
});

test('a task that another node has returned to a client stays if its webhook cannot be saved', async (t) => {
  const { executor, runs } = counting(async () => 'done');
  const a = await startNode(t, database.url, executor, { deliver });
  const b = await startNode(t, database.url, executor, { deliver });
  const message = says('go');
  const pushNotificationConfig = { url: 'https://hook.example/' };
  let returned: string | undefined;
  const configuration = { blocking: false, pushNotificationConfig };
  t.mock.method(
    a.store,
    'savePush',
    async () => {
      const other = await b.handler.sendMessage({ message, configuration });
      assert.ok(other.kind === 'task');
      returned = other.id;
      throw new StoreError('connection terminated', { code: 'unavailable' });
    },
    { times: 1 },
  );
  await assert.rejects(a.handler.sendMessage({ message, configuration }), { kind: 'unavailable' });
  const again = await a.handler.sendMessage({ message, configuration });
  assert.ok(again.kind === 'task' && again.id === returned);
  const stream = await b.handler.subscribe({ id: again.id, after: 0 });
  await within('the end', all(stream));
  assert.equal((await b.handler.getTask({ id: again.id })).status.state, 'completed');
  assert.equal(runs(), 1);
  assert.equal((await a.handler.listPushConfigs({ id: again.id })).length, 1);
});

test('of two answers with webhooks, only the accepted one changes the webhooks of the task', async (t) => {
  const asker = () =>
    createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
      yield (await ctx.ask('which?')).text;
    });
  const a = await startNode(t, database.url, asker(), { deliver });
  const b = await startNode(t, database.url, asker(), { deliver });
  const { id: taskId } = await begin(a.handler, 'go');
  while ((await b.handler.getTask({ id: taskId })).status.state !== 'input-required') {
    await setTimeout(10);
  }
  const answer = ({ handler }: typeof a, name: string) =>
    handler.sendMessage({
      message: says(name, { taskId }),
      configuration: { pushNotificationConfig: { url: `https://${name}.example/` } },
    });
  const [first, second] = await Promise.allSettled([answer(a, 'a'), answer(b, 'b')]);
  const accepted = first.status === 'fulfilled' ? 'a' : 'b';
  assert.equal([first, second].filter(({ status }) => status === 'fulfilled').length, 1);
  const configs = await a.handler.listPushConfigs({ id: taskId });
  assert.deepEqual(
    configs.map(({ pushNotificationConfig: { url } }) => url),
    [`https://${accepted}.example/`],
  );
  await assert.rejects(answer(b, 'c'), { kind: 'unsupportedOperation' });
  assert.deepEqual(await b.handler.listPushConfigs({ id: taskId }), configs);
});

test('a node whose lease has ended accepts no message, and is not ready, until it has joined again', async (t) => {
  const { executor } = counting(async () => 'done');
  const { handler, store, id } = await startNode(t, database.url, executor);
  const now = performance.now.bind(performance);
  // The process was paused for longer than its lease, and no timer has run since.
  const clock = t.mock.method(performance, 'now', () => now() + 2 * store.cluster.leaseMs);
  const sent = handler.sendMessage({ message: says('go') });
  await assert.rejects(sent, { kind: 'unavailable' });
  await assert.rejects(store.probe(), { message: 'the lease of this node has ended' });
  await database.query('DELETE FROM parley.nodes WHERE id = $1', [id]);
  clock.mock.restore();
  while (!store.cluster.hasLease || store.cluster.node === id) {
    await setTimeout(20);
  }
  await store.probe();
  const done = await handler.sendMessage({ message: says('go') });
  assert.ok(done.kind === 'task' && done.status.state === 'completed');
});

test('a repeated message that this node has not read yet is not taken for another message', async (t) => {
  const end = Promise.withResolvers<string>();
  const { executor } = counting(() => end.promise);
  const asks: AgentExecutor = {
    ...executor,
    async *execute(context) {
      if (textOf(context.message.parts) === 'ask') {
        yield { kind: 'status-update', state: 'input-required', message: 'which?' };
      } else yield* executor.execute(context);
    },
  };
  const a = await startNode(t, database.url, asks);
  const b = await startNode(t, database.url, asks);
  const { id: taskId } = await begin(a.handler, 'go');
  while ((await b.handler.getTask({ id: taskId })).status.state !== 'working') {
    await setTimeout(10);
  }
  const message = says('more', { taskId });
  // This node does not know yet that another node has taken over the task and accepted the message.
  await database.query(
    `INSERT INTO parley.messages (scope, message_id, task)
     SELECT scope, $1, id FROM parley.tasks WHERE task_id = $2`,
    [message.messageId, taskId],
  );
  await assert.rejects(a.handler.sendMessage({ message }), { kind: 'unavailable' });
  end.resolve('done');
});
