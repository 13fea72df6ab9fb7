/**
 * How long a task stands still when its node is gone: after `kill -9`, and after the node is paused for longer than its
 * lease. Two nodes share a PostgreSQL. The time ends with the first event of the new owner, as a client of the other
 * node sees it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres-server.ts';
import { startTcpProxy } from '../test/support/tcp-proxy.ts';
import { connect } from '../src/client.ts';
import { median, percentile, type Row } from './measure.ts';

const KILLS = 20;
const PAUSES = 3;
const LEASE_MS = 10_000;
/** A short lease, so that the scenario does not take minutes. The time in excess of the lease is measured. */
const SHORT_LEASE_MS = 2000;
/** A node counts the locks of other nodes only when its own session is older than this. */
const SETTLE_MS = 2500;

interface Node {
  readonly process: ChildProcess;
  readonly url: string;
}

async function startNode(url: string, leaseMs: number): Promise<Node> {
  const proxy = await startTcpProxy(() => []);
  const { port } = proxy;
  await proxy.close();
  const program = join(import.meta.dirname, '../test/faults/node.ts');
  const settings = JSON.stringify({ agent: { url, port }, leaseMs, listen: true });
  const child = spawn(process.execPath, [...process.execArgv, program, settings], {
    // The node ends when its standard input does.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  return { process: child, url: `http://127.0.0.1:${port}` };
}

/** Starts a task at `victim`, harms this node, and returns the time until the next event at `witness`. */
async function takeover(victim: Node, witness: Node, harm: 'SIGKILL' | 'SIGSTOP'): Promise<number> {
  const first = await connect(victim.url);
  const task = await first.send('steps 100000 10', { configuration: { blocking: false } });
  if (task.kind !== 'task') throw new Error('no task');
  const second = await connect(witness.url);
  let harmedAt = Infinity;
  const { promise, resolve } = Promise.withResolvers<number>();
  const watching = (async () => {
    for await (const _ of second.resubscribe(task.id)) {
      const latest = performance.now();
      // Events that were on the way when the node was harmed do not count.
      if (latest > harmedAt + 50) return resolve(latest - harmedAt);
    }
  })();
  await setTimeout(300);
  victim.process.kill(harm);
  harmedAt = performance.now();
  const took = await promise;
  await watching;
  await second.cancel(task.id).catch(() => undefined);
  if (harm === 'SIGSTOP') victim.process.kill('SIGKILL');
  return took;
}

export async function takeovers(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-takeover-'));
  const postgres = await startPostgres(folder);
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query('CREATE TABLE public.tool_runs (task_id text NOT NULL)');
  await client.end();
  const times = async (count: number, leaseMs: number, harm: 'SIGKILL' | 'SIGSTOP') => {
    const taken: number[] = [];
    const witness = await startNode(postgres.url, leaseMs);
    await setTimeout(SETTLE_MS);
    for (let round = 0; round < count; round++) {
      const victim = await startNode(postgres.url, leaseMs);
      taken.push(await takeover(victim, witness, harm));
    }
    witness.process.kill('SIGKILL');
    return taken;
  };
  try {
    const killed = await times(KILLS, LEASE_MS, 'SIGKILL');
    const paused = await times(PAUSES, SHORT_LEASE_MS, 'SIGSTOP');
    const p99 = percentile(killed, 0.99);
    const longest = Math.max(...paused) - SHORT_LEASE_MS;
    return [
      {
        scenario: 'takeover after kill -9',
        unit: 'ms wall, p50',
        values: { parley: median(killed), p99 },
        goal: { text: 'p99 ≤ 1000 ms', reached: p99, most: 1000 },
      },
      {
        scenario: `takeover after SIGSTOP, lease ${SHORT_LEASE_MS / 1000} s`,
        unit: 'ms wall, p50',
        values: { parley: median(paused), longest: Math.max(...paused) },
        goal: { text: '≤ lease + 1000 ms', reached: longest, most: 1000 },
      },
    ];
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
