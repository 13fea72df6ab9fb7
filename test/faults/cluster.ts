/**
 * Three nodes, one PostgreSQL and two load balancers, and the faults that happen to them: nodes are killed and paused,
 * the database is restarted, connections are cut, hints are lost.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../support/postgres-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import type { BudgetHistory } from './budget-checker.ts';
import { losingHints } from './lost-hints.ts';
import type { NodeSettings } from './node.ts';

const NODES = 3;
/** The lease of all nodes but the first one in a long run, which has the default. */
const LEASE_MS = 2000;
const DEFAULT_LEASE_MS = 10_000;
/** The load balancers leave out a node that has not responded for so long. */
const SICK_MS = 1000;
/** The share of hints that are always lost. */
const LOST_HINTS = 0.1;

const KINDS = ['kill', 'pause', 'cut', 'cut', 'restart', 'hints'] as const;

export interface FaultNode {
  readonly ports: { readonly agent: number; readonly gateway: number };
  readonly isLong: boolean;
  /** The name of the current process. */
  name: string;
  process: ChildProcess | undefined;
  pausedAt: number | undefined;
}

export interface FaultClusterOptions {
  readonly random: () => number;
  readonly history: BudgetHistory;
  /** The address of the provider of the gateway's model. */
  readonly vendor: string;
  /** Whether the first node has the default lease. */
  readonly hasLongLease: boolean;
}

export type FaultCluster = Awaited<ReturnType<typeof startFaultCluster>>;

export async function startFaultCluster(options: FaultClusterOptions) {
  const { random, history, vendor, hasLongLease } = options;
  const folder = mkdtempSync(join(tmpdir(), 'parley-faults-'));
  const faults: Record<string, number> = {};
  const crashes: string[] = [];
  const nodes: FaultNode[] = [];
  let processes = 0;
  const closing = new AbortController();
  const { signal: closed } = closing;
  let lostHints = 0;
  let lossRate = LOST_HINTS;

  process.once('exit', endAll);
  /** Ends everything that would survive this process. The database server removes its own shared memory. */
  function endAll(): void {
    closing.abort();
    for (const node of nodes) node.process?.kill('SIGKILL');
    postgres?.kill();
    // The server still writes files for a moment. An exit handler cannot await its end.
    for (let tries = 0; tries < 50 && existsSync(folder); tries++) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // The next attempt finds what is left.
      }
    }
  }

  let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
  const server = (postgres = await startPostgres(folder, ['fsync=off']));
  const toDatabase = await startTcpProxy(() => [server.port], {
    replies: () =>
      losingHints(() => {
        const loses = random() < lossRate;
        if (loses) lostHints++;
        return loses;
      }),
  });
  const pools = {
    agent: new pg.Pool({ connectionString: server.url, max: 2 }),
    gateway: new pg.Pool({ connectionString: urlOf('gateway', server.port), max: 2 }),
  };
  for (const pool of Object.values(pools)) pool.on('error', () => {});
  await pools.agent.query('CREATE DATABASE gateway');
  await pools.agent.query('CREATE TABLE public.tool_runs (task_id text NOT NULL)');

  const targets = (kind: 'agent' | 'gateway') => () =>
    nodes.filter((node) => !isSick(node)).map(({ ports }) => ports[kind]);
  const balancers = {
    agent: await startTcpProxy(targets('agent')),
    gateway: await startTcpProxy(targets('gateway')),
  };
  const addresses = {
    agent: `http://127.0.0.1:${balancers.agent.port}/`,
    gateway: `http://127.0.0.1:${balancers.gateway.port}/`,
  };

  function urlOf(database: string, port: number): string {
    return server.url.replace(/:\d+\/postgres$/, `:${port}/${database}`);
  }

  /** Starts the process of a node. One of three gets no hints. */
  async function start(node: FaultNode): Promise<void> {
    while (!closed.aborted) {
      const name = `n${++processes}`;
      const settings: NodeSettings = {
        name,
        agent: { port: node.ports.agent, url: urlOf('postgres', toDatabase.port) },
        gateway: { port: node.ports.gateway, url: urlOf('gateway', toDatabase.port) },
        vendor,
        behind: addresses.agent,
        ...(!node.isLong && { leaseMs: LEASE_MS }),
        listen: random() < 0.67,
      };
      const file = join(import.meta.dirname, 'node.ts');
      const child = spawn(process.execPath, [...process.execArgv, file, JSON.stringify(settings)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      Object.assign(node, { name, process: child });
      const ended = new Promise<false>((resolve) => child.once('exit', () => resolve(false)));
      const ready = new Promise<true>((resolve) => {
        createInterface({ input: child.stdout }).on('line', (line) => {
          if (line === 'ready') resolve(true);
          else expelled(node, name);
        });
      });
      if (await Promise.race([ready, ended])) {
        child.once('exit', (code) => {
          if (code !== null && !closed.aborted)
            crashes.push(`node ${name} ended by itself with code ${code}`);
        });
        return;
      }
      // The database was away.
      await setTimeout(200);
    }
  }

  /** A process has found out that it lost its lease, some time ago. */
  function expelled(node: FaultNode, name: string): void {
    faults['expelled'] = (faults['expelled'] ?? 0) + 1;
    const to = performance.now();
    history.incidents.push({ node: name, from: to - leaseOf(node) - SICK_MS, to });
  }

  async function kill(node: FaultNode): Promise<void> {
    node.process?.kill('SIGKILL');
    const from = node.pausedAt ?? performance.now();
    node.pausedAt = undefined;
    history.incidents.push({ node: node.name, from, to: Infinity });
    await setTimeout(random() * 500);
    await start(node);
  }

  function pause(node: FaultNode): void {
    node.process?.kill('SIGSTOP');
    node.pausedAt ??= performance.now();
  }

  function resume(node: FaultNode): void {
    const { name, pausedAt: from } = node;
    if (from === undefined) return;
    node.process?.kill('SIGCONT');
    node.pausedAt = undefined;
    const to = performance.now();
    history.outages.push({ from, to });
    history.incidents.push({ node: name, from, to });
  }

  /** Does one random harm, and repairs it if it does not repair itself. */
  async function fault(): Promise<void> {
    const kind = KINDS[Math.floor(random() * KINDS.length)]!;
    const node = nodes[Math.floor(random() * nodes.length)]!;
    if (node.pausedAt !== undefined && (node.isLong || kind === 'pause')) return;
    faults[kind] = (faults[kind] ?? 0) + 1;
    if (kind === 'kill') await kill(node);
    else if (kind === 'pause') {
      pause(node);
      const { name } = node;
      // Sometimes within the lease, mostly after it.
      void setTimeout(LEASE_MS * (0.3 + random())).then(() => name === node.name && resume(node));
    } else if (kind === 'cut') {
      const from = performance.now();
      toDatabase.cut(random());
      if (random() < 0.3) balancers.agent.cut(random());
      if (random() < 0.3) balancers.gateway.cut(random());
      history.outages.push({ from, to: from });
    } else if (kind === 'hints') {
      lossRate = 1;
      void setTimeout(random() * 3000).then(() => (lossRate = LOST_HINTS));
    } else {
      const outage = { from: performance.now(), to: Infinity };
      history.outages.push(outage);
      await server.stop();
      await setTimeout(random() * LEASE_MS);
      if (closed.aborted) return;
      await server.start();
      outage.to = performance.now();
    }
  }

  for (let at = 0; at < NODES; at++) {
    const ports = { agent: await freePort(), gateway: await freePort() };
    const isLong = hasLongLease && at === 0;
    nodes.push({ ports, isLong, name: '', process: undefined, pausedAt: undefined });
  }
  await Promise.all(nodes.map(start));
  return {
    nodes,
    addresses,
    pools,
    faults,
    crashes,
    gatewayDatabase: urlOf('gateway', server.port),
    get lostHints() {
      return lostHints;
    },
    fault,
    pause,
    resume,
    leaseOf,
    async close() {
      if (closed.aborted) return;
      closing.abort();
      for (const node of nodes) node.process?.kill('SIGKILL');
      await Promise.all([balancers.agent.close(), balancers.gateway.close(), toDatabase.close()]);
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
      await server.stop();
      process.off('exit', endAll);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function leaseOf({ isLong }: FaultNode): number {
  return isLong ? DEFAULT_LEASE_MS : LEASE_MS;
}

function isSick({ pausedAt }: FaultNode): boolean {
  return pausedAt !== undefined && performance.now() - pausedAt > SICK_MS;
}

async function freePort(): Promise<number> {
  const proxy = await startTcpProxy(() => []);
  await proxy.close();
  return proxy.port;
}
