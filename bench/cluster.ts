/** What a second node costs: the delay of a reader on another node, and the CPU time of a request with two nodes. */
import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import { postgresStore } from '../src/store/postgres/postgres-store.ts';
import { createAgent, createHandler } from '../src/tasks/index.ts';
import { load, messageRequest } from './driver.ts';
import { compare, median, percentile, type Row } from './measure.ts';
import { parley, stop } from './subjects.ts';

const EVENTS = 400;
const EVERY_MS = 15;
const ROUNDS = 9;
const REQUESTS = 1500;
const CONNECTIONS = 16;
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

/** The time from an event of an agent, before it is stored, to a reader of the task on another node. */
export async function readerLag(server: string): Promise<Row> {
  const url = await emptyDatabase(server, 'parley_bench_lag');
  const agent = createAgent({ name: 'Clock', description: 'Tells the time' }, async function* () {
    for (let n = 0; n < EVENTS; n++) {
      await wait(EVERY_MS);
      yield `${performance.now()} `;
    }
  });
  const node = async () => {
    const store = await postgresStore(url, { logger });
    const handler = createHandler(agent, { store, logger });
    await handler.recover();
    return handler;
  };
  const [one, other] = [await node(), await node()];
  try {
    const parts = [{ kind: 'text' as const, text: 'go' }];
    const message = {
      kind: 'message' as const,
      messageId: randomUUIDv7(),
      role: 'user' as const,
      parts,
    };
    const task = await one.sendMessage({ message, configuration: { blocking: false } });
    if (task.kind !== 'task') throw new Error('no task');
    const lags: number[] = [];
    for await (const { event } of await other.subscribe({ id: task.id })) {
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
    await one.close(0);
    await other.close(0);
  }
}

/** The CPU time of all nodes for one request: one node alone, and two nodes with the same load each. */
export async function twoNodes(server: string): Promise<Row> {
  const alone = await emptyDatabase(server, 'parley_bench_one');
  const shared = await emptyDatabase(server, 'parley_bench_two');
  const start = (url: string) => parley('parley', '--store', url);
  const [single, first, second] = [await start(alone), await start(shared), await start(shared)];
  const echo = () => messageRequest('SendMessage', 'echo hello');
  const run = async (...ports: number[]) => {
    await Promise.all(ports.map((port) => load(port, CONNECTIONS, REQUESTS, echo)));
    return REQUESTS * ports.length;
  };
  const sum = (...seconds: readonly (number | undefined)[]) =>
    seconds.reduce((total, each) => (total ?? 0) + (each ?? Number.NaN), 0);
  try {
    const costs = await compare(ROUNDS, [
      { subject: single, run: () => run(single.port) },
      {
        subject: { name: 'two', cpu: () => sum(first.cpu(), second.cpu()) },
        run: () => run(first.port, second.port),
      },
    ]);
    const one = costs.get('parley')?.cpuUs ?? Number.NaN;
    const two = costs.get('two')?.cpuUs ?? Number.NaN;
    return {
      scenario: 'PostgreSQL, unary, two nodes, each',
      unit: 'µs/request',
      values: { 'one node': one, parley: two },
      goal: { text: '≤ 1.1 × one node', reached: two / one, most: 1.1 },
    };
  } finally {
    await stop(single, first, second);
  }
}
