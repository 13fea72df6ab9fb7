/**
 * What a second node costs: the delay of a reader and of a cancellation on another node, and the CPU time of a request
 * with two nodes.
 */
import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import { postgresStore } from '../src/store/postgres/postgres-store.ts';
import { type AgentExecutor, createAgent, createHandler } from '../src/tasks/index.ts';
import { messageRequest, pacedLoad } from './driver.ts';
import { compare, median, percentile, type Row } from './measure.ts';
import type { Subject } from './subject.ts';
import { parley, stop } from './subjects.ts';

const EVENTS = 400;
const CANCELED_TASKS = 100;
const EVERY_MS = 15;
const ROUNDS = 11;
const WARM_UP_ROUNDS = 4;
/** Duration of the load in a round. */
const SECONDS = 2;
const logger = { debug() {}, info() {}, warn() {}, error: console.error };

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Creates an empty database in the server. */
async function emptyDatabase(url: string, name: string): Promise<string> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const place = new URL(url);
  place.pathname = `/${name}`;
  return place.href;
}

/** Opens two nodes in one process that share a database. */
async function openTwoNodes(url: string, agent: AgentExecutor) {
  const node = async () => {
    const store = await postgresStore(url, { logger });
    const handler = createHandler(agent, { store, logger });
    await handler.recover();
    return handler;
  };
  const [one, other] = [await node(), await node()];
  const close = async () => {
    await one.close(0);
    await other.close(0);
  };
  return { one, other, close };
}

type Handler = Awaited<ReturnType<typeof openTwoNodes>>['one'];

async function startTask(handler: Handler): Promise<string> {
  const message = {
    kind: 'message' as const,
    messageId: randomUUIDv7(),
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text: 'go' }],
  };
  const task = await handler.sendMessage({ message, configuration: { blocking: false } });
  if (task.kind !== 'task') throw new Error('no task');
  return task.id;
}

/** The time from an event of an agent, before it is stored, to a reader of the task on another node. */
export async function readerLag(server: string): Promise<Row> {
  const url = await emptyDatabase(server, 'parley_bench_lag');
  const agent = createAgent({ name: 'Clock', description: 'Tells the time' }, async function* () {
    for (let n = 0; n < EVENTS; n++) {
      await wait(EVERY_MS);
      yield `${performance.now()} `;
    }
  });
  const { one, other, close } = await openTwoNodes(url, agent);
  try {
    const id = await startTask(one);
    const lags: number[] = [];
    for await (const { event } of await other.subscribe({ id })) {
      if (event.kind !== 'artifact-update') continue;
      const now = performance.now();
      for (const part of event.artifact.parts) {
        if (part.kind !== 'text') continue;
        // Chunks that were stored together may be joined.
        for (const at of part.text.trim().split(' ')) lags.push(now - Number(at));
      }
    }
    // The first events are those before the subscription.
    const measured = lags.slice(20);
    const p50 = median(measured);
    return {
      scenario: 'PostgreSQL, to a reader on another node',
      unit: 'ms wall, p50',
      values: { parley: p50, p99: percentile(measured, 0.99) },
      goal: { text: 'p50 ≤ 20 ms', reached: p50, most: 20 },
    };
  } finally {
    await close();
  }
}

/** The time from a cancellation at one node until the agent, which runs on the other node, is told to stop. */
export async function cancelLag(server: string): Promise<Row> {
  const url = await emptyDatabase(server, 'parley_bench_cancel');
  let started = Promise.withResolvers<AbortSignal>();
  const agent = createAgent(
    { name: 'Waiting', description: 'Waits' },
    async function* ({ signal }) {
      yield 'waiting';
      started.resolve(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  );
  const { one, other, close } = await openTwoNodes(url, agent);
  try {
    const lags: number[] = [];
    for (let n = 0; n < CANCELED_TASKS; n++) {
      started = Promise.withResolvers();
      const id = await startTask(one);
      const signal = await started.promise;
      const since = performance.now();
      const stopped = new Promise<number>((resolve) => {
        const stop = () => resolve(performance.now() - since);
        signal.addEventListener('abort', stop, { once: true });
      });
      await other.cancelTask({ id });
      lags.push(await stopped);
    }
    const p99 = percentile(lags, 0.99);
    return {
      scenario: 'PostgreSQL, a cancellation from another node',
      unit: 'ms wall, p99',
      values: { parley: p99, p50: median(lags) },
      goal: { text: '≤ 100 ms', reached: p99, most: 100 },
    };
  } finally {
    await close();
  }
}

/**
 * The CPU time of a node for one request: a node alone, two nodes with a database each (`two apart`), and two nodes that
 * share a database. Each node gets the same number of requests per second. The rate is fixed, because a node needs less
 * CPU time per request if more requests are in progress, which share transactions. So a comparison at full load would
 * compare the load, too. Twice the load on one machine slows down every process. `two apart` shows how much.
 */
export async function twoNodes(server: string): Promise<Row[]> {
  const alone = await parley('parley', '--store', await emptyDatabase(server, 'parley_bench_one'));
  const apart = await parley('parley', '--store', await emptyDatabase(server, 'parley_bench_two'));
  const shared = await emptyDatabase(server, 'parley_bench_shared');
  const pair = [
    await parley('parley', '--store', shared),
    await parley('parley', '--store', shared),
  ];
  const measure = async (what: string, text: string, rate: number): Promise<Row> => {
    const work = (name: string, nodes: readonly Subject[]) => ({
      subject: {
        name,
        cpu: () => nodes.reduce((sum, node) => sum + (node.cpu() ?? Number.NaN), 0),
      },
      run: async () => {
        const request = () => messageRequest('SendMessage', text);
        const loads = nodes.map(({ port }) => pacedLoad(port, rate, SECONDS, request));
        return (await Promise.all(loads)).reduce((sum, requests) => sum + requests, 0);
      },
    });
    const works = [work('alone', [alone]), work('apart', [alone, apart]), work('parley', pair)];
    const costs = await compare(ROUNDS, works, WARM_UP_ROUNDS);
    const cost = (name: string) => costs.get(name)?.cpuUs ?? Number.NaN;
    const values = {
      'one node': cost('alone'),
      'two apart': cost('apart'),
      parley: cost('parley'),
    };
    return {
      scenario: `PostgreSQL, two nodes, ${rate}/s each: ${what}`,
      unit: 'µs/request',
      values,
      goal: {
        text: '≤ 1.1 × one node',
        reached: values.parley / values['one node'],
        most: 1.1,
      },
    };
  };
  try {
    return [await measure('message', 'echo hello', 1000), await measure('5 events', 'task 5', 300)];
  } finally {
    await stop(alone, apart, ...pair);
  }
}
