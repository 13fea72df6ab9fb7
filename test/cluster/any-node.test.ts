/** Every node answers every request, also for a task that another node executes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { Hint } from '../../src/store/postgres/hints.ts';
import { channelOf } from '../../src/store/postgres/membership.ts';
import { createAgent, type AgentExecutor, type Deliver } from '../../src/tasks/index.ts';
import { within } from '../support/within.ts';
import {
  all,
  begin,
  clusterDatabase,
  says,
  startNode,
  textOfTask,
  type TestNode,
} from './nodes.ts';

const database = await clusterDatabase();
after(() => database.drop());

/** Sends a chunk each time `emit` is called, and ends after `finish`. The signals are those of its executions. */
function controlled() {
  const signals: AbortSignal[] = [];
  let wake = Promise.withResolvers<void>();
  const queue: (string | undefined)[] = [];
  const push = (text: string | undefined) => {
    queue.push(text);
    wake.resolve();
  };
  const agent = createAgent({ name: 'Controlled', description: 'Waits' }, async function* (ctx) {
    signals.push(ctx.signal);
    const aborted = new Promise<void>((resolve) => {
      ctx.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    while (!ctx.signal.aborted) {
      if (queue.length === 0) {
        await Promise.race([wake.promise, aborted]);
        wake = Promise.withResolvers<void>();
        continue;
      }
      const text = queue.shift();
      if (text === undefined) return;
      yield text;
    }
  });
  return { agent, signals, emit: (text: string) => push(text), finish: () => push(undefined) };
}

async function twoNodes(t: TestContext, executor: AgentExecutor, other = executor, listen = true) {
  const cluster = { listen };
  const a = await startNode(t, database.url, executor, { cluster });
  const b = await startNode(t, database.url, other, { cluster });
  return { a, b };
}

for (const listen of [true, false]) {
  const how = listen ? '' : ', without LISTEN';

  test(`a stream of one node has the events that another node appends${how}`, async (t) => {
    const { agent, emit, finish } = controlled();
    const { a, b } = await twoNodes(t, agent, undefined, listen);
    const { id } = await begin(a.handler, 'go');
    const whole = all(await b.handler.subscribe({ id }));
    emit('one ');
    emit('two');
    finish();
    const items = await within('the end of the stream', whole);
    const last = items.at(-1)?.event;
    assert.ok(last?.kind === 'status-update' && last.final && last.status.state === 'completed');
    assert.deepEqual(
      items.map(({ seq }) => seq),
      items.map((_, index) => items[0]!.seq! + index),
    );
    assert.equal(textOfTask(await b.handler.getTask({ id })), 'one two');
  });

  test(`a task is canceled by a node that does not execute it${how}`, async (t) => {
    const { agent, signals } = controlled();
    const { a, b } = await twoNodes(t, agent, undefined, listen);
    const { id } = await begin(a.handler, 'go');
    const since = performance.now();
    const canceled = await within('the cancellation', b.handler.cancelTask({ id }));
    t.diagnostic(`canceled after ${Math.round(performance.now() - since)} ms`);
    assert.equal(canceled.status.state, 'canceled');
    assert.equal(signals[0]?.aborted, true);
    assert.equal((await a.handler.getTask({ id })).status.state, 'canceled');
    await assert.rejects(b.handler.cancelTask({ id }), { kind: 'taskNotCancelable' });
  });
}

test('an answer is taken by any node, and the agent continues there', async (t) => {
  const asker = () =>
    createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
      const first = await ctx.ask('first?');
      yield `1 ${first.text}, `;
      const second = await ctx.ask('second?');
      yield `2 ${second.text}, `;
      const third = await ctx.ask('third?');
      yield `3 ${third.text}`;
    });
  const { a, b } = await twoNodes(t, asker(), asker());
  const { id: taskId } = await begin(a.handler, 'go');
  const answer = async (node: typeof a, text: string) => {
    const task = await node.handler.sendMessage({ message: says(text, { taskId }) });
    assert.ok(task.kind === 'task');
    return task;
  };
  await waits(b, taskId);
  assert.equal((await answer(b, 'x')).status.state, 'input-required');
  // The generator that waits at the first node knows only the first question.
  assert.equal((await answer(a, 'y')).status.state, 'input-required');
  const done = await answer(b, 'z');
  assert.equal(done.status.state, 'completed');
  assert.equal(textOfTask(done), '1 x, 2 y, 3 z');
});

/** Returns a function that waits for the next hint to the node that the condition accepts. */
async function hintsTo(
  t: TestContext,
  node: Pick<TestNode, 'id'>,
  accepts: (hint: Hint) => boolean,
) {
  const client = new pg.Client(database.url);
  await client.connect();
  t.after(() => client.end());
  await client.query(`LISTEN "${channelOf(node.id)}"`);
  const arrived: Hint[] = [];
  client.on('notification', ({ payload = '' }) => {
    // When its session starts, a node sends a ping to itself.
    if (payload.startsWith('ping ')) return;
    const hint: Hint = JSON.parse(payload);
    if (accepts(hint)) arrived.push(hint);
  });
  return async () => {
    while (arrived.length === 0) await once(client, 'notification');
    arrived.shift();
  };
}

test('a node that is told of a new owner asks it for hints at once, not at the next poll', async (t) => {
  const { agent, finish } = controlled();
  const { a, b } = await twoNodes(t, agent);
  const { id } = await begin(b.handler, 'go');
  const whole = all(await a.handler.subscribe({ id }));
  const followed = await hintsTo(t, b, ({ follow }) => follow?.includes(id) === true);
  // A poll asks once a second, so polls alone would take ten seconds.
  const rounds = async () => {
    for (let round = 0; round < 10; round++) {
      const hint: Hint = { moved: [id] };
      await database.query('SELECT pg_notify($1, $2)', [channelOf(a.id), JSON.stringify(hint)]);
      await followed();
    }
  };
  await within('ten requests for hints', rounds(), 6000);
  finish();
  await within('the end of the stream', whole);
});

test('a node that has just joined gets hints as soon as the owner of the task knows the node', async (t) => {
  const { agent, finish } = controlled();
  const owner = await startNode(t, database.url, agent);
  const { id } = await begin(owner.handler, 'go');
  while (!owner.store.cluster.stats().listens) await new Promise(setImmediate);
  const newcomer = { id: 'newcomer' };
  const told = await hintsTo(t, newcomer, ({ changed }) => changed?.includes(id) === true);
  const hint: Hint = { follow: [id], from: newcomer.id };
  await database.query('SELECT pg_notify($1, $2)', [channelOf(owner.id), JSON.stringify(hint)]);
  await database.query(
    `INSERT INTO parley.nodes (id, lease_until) VALUES ($1, clock_timestamp() + interval '1 minute')`,
    [newcomer.id],
  );
  await within('the hint', told());
  await database.query('DELETE FROM parley.nodes WHERE id = $1', [newcomer.id]);
  finish();
});

test('a node that takes over a waiting task tells the others', async (t) => {
  const asker = createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
    yield (await ctx.ask('first?')).text;
  });
  const { a, b } = await twoNodes(t, asker);
  const { id: taskId } = await begin(a.handler, 'go');
  await waits(a, taskId);
  const told = await hintsTo(t, a, ({ moved }) => moved?.includes(taskId) === true);
  await b.handler.sendMessage({ message: says('x', { taskId }) });
  await within('the hint', told());
});

/** Waits until a task asks for input, as a node sees it. */
async function waits({ handler }: TestNode, id: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await handler.getTask({ id })).status.state === 'input-required') return;
    await setTimeout(10);
  }
  assert.fail('the task does not ask for input');
}

test('of two answers at different nodes, one is accepted', async (t) => {
  const agent = () =>
    createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
      yield (await ctx.ask('which?')).text;
    });
  const { a, b } = await twoNodes(t, agent(), agent());
  for (let round = 0; round < 5; round++) {
    const { id: taskId } = await begin(a.handler, 'go');
    await waits(b, taskId);
    const answers = await Promise.allSettled([
      a.handler.sendMessage({ message: says('a', { taskId }) }),
      b.handler.sendMessage({ message: says('b', { taskId }) }),
    ]);
    const accepted = answers.filter(({ status }) => status === 'fulfilled');
    assert.equal(accepted.length, 1, JSON.stringify(answers));
    const task = await a.handler.getTask({ id: taskId });
    assert.ok(['a', 'b'].includes(textOfTask(task)), textOfTask(task));
    assert.equal(task.history?.filter(({ role }) => role === 'user').length, 2);
  }
});

test('a message that comes to two nodes at the same time starts one task', async (t) => {
  const agent = createAgent({ name: 'Echo', description: 'Echoes' }, async function* (ctx) {
    yield ctx.text;
  });
  const { a, b } = await twoNodes(t, agent);
  const message = says('once');
  const [one, two] = await Promise.all([
    a.handler.sendMessage({ message }),
    b.handler.sendMessage({ message }),
  ]);
  assert.ok(one.kind === 'task' && two.kind === 'task');
  assert.equal(one.id, two.id);
  assert.equal(textOfTask(one), 'once');
});

test('a message to a running task reaches the node that executes it', async (t) => {
  const heard = Promise.withResolvers<string>();
  /** Accepts messages while it runs, only at the node where it runs. */
  const listener = (): AgentExecutor => {
    let runs = false;
    return {
      receive: (_context, task) =>
        task && runs
          ? {
              deliver: ({ parts: [part] }) =>
                heard.resolve(part?.kind === 'text' ? part.text : 'no text'),
            }
          : {},
      async *execute() {
        runs = true;
        yield { kind: 'status-update', state: 'working' };
        yield { kind: 'status-update', state: 'completed', message: await heard.promise };
      },
    };
  };
  const { a, b } = await twoNodes(t, listener(), listener());
  const { id: taskId } = await begin(a.handler, 'go');
  const task = await within(
    'the end of the task',
    b.handler.sendMessage({ message: says('psst', { taskId }) }),
  );
  assert.ok(task.kind === 'task');
  assert.equal(task.status.state, 'completed');
  assert.equal(await heard.promise, 'psst');
  assert.equal(
    task.history?.some(({ parts: [part] }) => part?.kind === 'text' && part.text === 'psst'),
    true,
  );
});

test('a message to another node is stored encrypted, with the secrets of its webhook', async (t) => {
  const received = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  const runner = (): AgentExecutor => ({
    async receive(_context, task) {
      if (task) await stored.promise;
      return task ? { deliver: () => received.resolve() } : {};
    },
    async *execute() {
      yield { kind: 'status-update', state: 'working' };
      await received.promise;
      yield { kind: 'status-update', state: 'completed' };
    },
  });
  const deliver: Deliver = {
    accept: (config) => ({ ...config, id: config.id ?? 'default' }),
    prepare: async () => async () => 'taken',
  };
  const start = (secretKey?: string) =>
    startNode(t, database.url, runner(), { secretKey, deliver });
  const [a, b, c, d] = await Promise.all([start('one'), start('one'), start(), start('two')]);
  const { id: taskId } = await begin(a.handler, 'go');
  const send = ({ handler }: TestNode) =>
    handler.sendMessage({
      message: says('private', { taskId }),
      configuration: {
        pushNotificationConfig: { url: 'https://hooks.example/url', token: 'the-token' },
      },
    });
  await assert.rejects(send(c), { kind: 'invalidParams', message: /no key to store secrets/ });
  await assert.rejects(send(d), { kind: 'unavailable', message: /cannot read the message/ });
  const sent = send(b);
  const find = () => database.query('SELECT body FROM parley.requests WHERE sender = $1', [b.id]);
  let [row] = await find();
  while (!row) {
    await setTimeout(5);
    [row] = await find();
  }
  stored.resolve();
  assert.doesNotMatch(String(row['body']), /token|hooks|private/);
  const task = await within('the end of the task', sent);
  assert.ok(task.kind === 'task' && task.status.state === 'completed');
  const configs = await a.handler.listPushConfigs({ id: taskId });
  assert.deepEqual(
    configs.map(({ pushNotificationConfig }) => pushNotificationConfig.url),
    ['https://hooks.example/url'],
  );
});

test('a message to a running task that takes none is refused by every node in the same words', async (t) => {
  const { agent, finish } = controlled();
  const { a, b } = await twoNodes(t, agent);
  const { id: taskId } = await begin(a.handler, 'go');
  const refusals = await Promise.all(
    [a, b].map(({ handler }) =>
      handler.sendMessage({ message: says('more', { taskId }) }).then(
        () => 'accepted',
        (error: Error) => error.message,
      ),
    ),
  );
  assert.match(refusals[0] ?? '', /being worked on/);
  assert.equal(refusals[0], refusals[1]);
  finish();
});

test('a reserved task gets its first message at another node', async (t) => {
  const agent = createAgent({ name: 'Echo', description: 'Echoes' }, async function* (ctx) {
    yield ctx.text;
  });
  const { a, b } = await twoNodes(t, agent);
  const { id: taskId } = await a.handler.reserveTask({});
  assert.equal((await b.handler.getTask({ id: taskId })).status.state, 'submitted');
  const task = await b.handler.sendMessage({ message: says('hello', { taskId }) });
  assert.ok(task.kind === 'task');
  assert.equal(textOfTask(task), 'hello');
});

test('of several nodes, the oldest one with a retention removes tasks, even if a terminal is older', async (t) => {
  const agent = createAgent({ name: 'Echo', description: 'Echoes' }, async function* (ctx) {
    yield ctx.text;
  });
  const own = await clusterDatabase();
  t.after(() => own.drop());
  const terminal = await startNode(t, own.url, agent);
  const a = await startNode(t, own.url, agent);
  const b = await startNode(t, own.url, agent);
  const now = Date.now() + 31 * 86_400_000;
  await terminal.handler.sendMessage({ message: says('one') });
  assert.deepEqual(await terminal.handler.expire({ now }), { ended: 0, removed: 0 });
  assert.equal((await b.handler.expire({ now, retention: {} })).old, 1);
  await terminal.handler.sendMessage({ message: says('two') });
  assert.deepEqual(await terminal.handler.expire({ now }), { ended: 0, removed: 0 });
  assert.equal((await a.handler.expire({ now, retention: {} })).old, 1);
  assert.equal((await b.handler.expire({ now, retention: {} })).old, undefined);
  assert.deepEqual(
    [terminal, a, b].map(({ store }) => store.cluster.stats().sweeps),
    [false, true, false],
  );
});

test('without a node that has a retention, the oldest node ends expired tasks', async (t) => {
  const agent: AgentExecutor = {
    receive: () => ({ expiresAt: 1 }),
    async *execute() {
      yield { kind: 'status-update', state: 'input-required' };
    },
  };
  const own = await clusterDatabase();
  t.after(() => own.drop());
  const a = await startNode(t, own.url, agent);
  const b = await startNode(t, own.url, agent);
  await begin(b.handler, 'go');
  assert.equal((await a.handler.expire({})).ended, 1);
  await begin(b.handler, 'go');
  assert.equal((await b.handler.expire({})).ended, 0);
});
