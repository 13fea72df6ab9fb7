/**
 * Three nodes, one PostgreSQL and a load balancer, under faults: nodes are killed and paused, the database is restarted,
 * connections are cut, hints are lost. Then everything recovers, and a checker compares what clients were told with what
 * is stored.
 *
 *   npm run test:faults -- --seed 7 --seconds 60
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgres } from '../support/postgres-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { check, emptyHistory, type StoredTask } from './checker.ts';
import { client, startReceiver } from './clients.ts';
import type { NodeSettings } from './node.ts';

const LEASE_MS = 2000;
const NODES = 3;
const CLIENTS = 8;
/** How long to wait until all tasks are settled and all webhooks delivered. */
const RECOVER_MS = 45_000;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, seconds: { type: 'string', default: '60' } },
});
const seed = Number(values.seed);
const random = generator(seed);
const history = emptyHistory();
const folder = mkdtempSync(join(tmpdir(), 'parley-faults-'));
const faults: Record<string, number> = {};

const postgres = await startPostgres(folder, ['fsync=off']);
const toDatabase = await startTcpProxy(() => [postgres.port]);
const direct = new pg.Pool({ connectionString: postgres.url, max: 2 });
direct.on('error', () => {});
await direct.query('CREATE TABLE public.tool_runs (task_id text NOT NULL)');

interface Node {
  readonly port: number;
  process: ChildProcess;
  isPaused: boolean;
}

const nodes: Node[] = [];
for (let at = 0; at < NODES; at++) {
  const port = await freePort();
  nodes.push({ port, process: await start(port), isPaused: false });
}
const balancer = await startTcpProxy(() => nodes.map(({ port }) => port));
const receiver = await startReceiver(history, random);
const load = new AbortController();
const base = `http://127.0.0.1:${balancer.port}/`;
const options = { base, history, random, signal: load.signal, hook: receiver.url };
const clients = Array.from({ length: CLIENTS }, (_, at) =>
  client(at % 2 === 0 ? '0.3' : '1.0', options),
);
const until = performance.now() + Number(values.seconds) * 1000;
while (performance.now() < until) {
  await setTimeout(300 + random() * 1500);
  await fault();
}
for (const node of nodes) resume(node);
await setTimeout(500);
load.abort();
await Promise.all(clients);
await recovered();
const tasks = await stored();
const broken = check(history, tasks);
const { acknowledged, streams, deliveries } = history;
const told = `${acknowledged.length} messages, ${streams.length} streams, ${deliveries.length} deliveries`;
console.log(`seed ${seed}: ${tasks.length} tasks, ${told}; faults: ${JSON.stringify(faults)}`);
for (const line of broken) console.log(`  ${line}`);
if (broken.length > 0) await showUnfinished();
console.log(broken.length === 0 ? 'no violation' : `${broken.length} violations`);
for (const { process: child } of nodes) child.kill('SIGKILL');
await Promise.all([balancer.close(), toDatabase.close(), direct.end()]);
receiver.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(broken.length === 0 ? 0 : 1);

/** Does one random harm, and repairs it if it does not repair itself. */
async function fault(): Promise<void> {
  const node = nodes[Math.floor(random() * nodes.length)]!;
  const kind = ['kill', 'pause', 'cut', 'cut', 'restart'][Math.floor(random() * 5)]!;
  faults[kind] = (faults[kind] ?? 0) + 1;
  if (kind === 'kill') {
    node.process.kill('SIGKILL');
    node.isPaused = false;
    await setTimeout(random() * 500);
    node.process = await start(node.port);
  } else if (kind === 'pause') {
    node.process.kill('SIGSTOP');
    node.isPaused = true;
    // Sometimes within the lease, mostly after it.
    void setTimeout(LEASE_MS * (0.3 + random())).then(() => resume(node));
  } else if (kind === 'cut') {
    toDatabase.cut(random());
    if (random() < 0.3) balancer.cut(random());
  } else {
    await postgres.stop();
    await setTimeout(random() * LEASE_MS);
    await postgres.start();
  }
}

function resume(node: Node): void {
  if (node.isPaused) node.process.kill('SIGCONT');
  node.isPaused = false;
}

/** Starts a node. One of three gets no hints. */
async function start(port: number): Promise<ChildProcess> {
  const url = postgres.url.replace(/:\d+\/postgres$/, `:${toDatabase.port}/postgres`);
  const settings: NodeSettings = { url, port, leaseMs: LEASE_MS, listen: random() < 0.67 };
  for (;;) {
    const child = spawn(
      process.execPath,
      [...process.execArgv, join(import.meta.dirname, 'node.ts'), JSON.stringify(settings)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = new Promise<false>((resolve) => child.once('exit', () => resolve(false)));
    const ready = new Promise<true>((resolve) => {
      createInterface({ input: child.stdout }).once('line', () => resolve(true));
    });
    if (await Promise.race([ready, ended])) return child;
    // The database was away.
    await setTimeout(200);
  }
}

/** Waits until all tasks are settled and all webhooks have got their events. */
async function recovered(): Promise<void> {
  const deadline = performance.now() + RECOVER_MS;
  while (performance.now() < deadline) {
    const { rows } = await direct.query<{ open: string }>(
      `SELECT (SELECT count(*) FROM parley.tasks WHERE state IN ('submitted', 'working'))
            + (SELECT count(*) FROM parley.push WHERE due_at IS NOT NULL) AS open`,
    );
    if (Number(rows[0]?.open) === 0) return;
    await setTimeout(200);
  }
}

/** Shows the owners of unfinished tasks, which helps to find out why nobody executes them. */
async function showUnfinished(): Promise<void> {
  const { rows: nodes } = await direct.query('SELECT * FROM parley.nodes');
  const { rows: unfinished } = await direct.query(
    `SELECT task_id, state, seq, node, epoch FROM parley.tasks WHERE state IN ('submitted', 'working')`,
  );
  console.log(JSON.stringify({ nodes, unfinished }, undefined, 2));
}

async function stored(): Promise<StoredTask[]> {
  const { rows } = await direct.query<StoredTask & { log: { seq: number; json: string }[] }>(`
    SELECT t.task_id AS "taskId", t.seq, t.state,
      (SELECT json_agg(json_build_object('seq', e.seq, 'json', e.json) ORDER BY e.seq)
         FROM parley.events e WHERE e.task = t.id) AS log,
      (SELECT coalesce(json_agg(m.message_id), '[]') FROM parley.messages m WHERE m.task = t.id) AS "messageIds",
      (SELECT count(*)::integer FROM public.tool_runs r WHERE r.task_id = t.task_id) AS "toolRuns"
    FROM parley.tasks t ORDER BY t.id`);
  return rows.map(({ taskId, seq, state, messageIds, toolRuns, log }) => {
    const entries = log.map((entry) => ({ seq: entry.seq, event: JSON.parse(entry.json) }));
    return { taskId, seq, state, messageIds, toolRuns, entries };
  });
}

async function freePort(): Promise<number> {
  const proxy = await startTcpProxy(() => []);
  await proxy.close();
  return proxy.port;
}

/** Returns a generator of numbers from 0 to 1 (mulberry32), so that a seed repeats a run as far as timing allows. */
function generator(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
