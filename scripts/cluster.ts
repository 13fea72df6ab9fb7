/**
 * Starts a PostgreSQL, three nodes and a load balancer on this machine, to try several nodes without containers:
 *
 *   npm run cluster                                  the agent `bench`, on port 4000
 *   npm run cluster -- --port 8000 --agent FILE      another port, another agent
 *
 * With DATABASE_URL, that database is used instead. Ctrl+C stops everything. The data is then removed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/support/postgres-server.ts';
import { startTcpProxy } from '../test/support/tcp-proxy.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4000' },
    agent: { type: 'string', default: 'bench' },
    nodes: { type: 'string', default: '3' },
  },
});
const given = process.env['DATABASE_URL'];
const folder = mkdtempSync(join(tmpdir(), 'parley-cluster-'));
const postgres = given ? undefined : await startPostgres(folder, []);
const url = given ?? postgres?.url ?? '';
const base = `http://127.0.0.1:${values.port}`;
const nodes: { readonly process: ChildProcess; readonly port: number }[] = [];
for (let at = 0; at < Number(values.nodes); at++) nodes.push(await startNode(at + 1));
const balancer = await startTcpProxy(() => nodes.map(({ port }) => port), {
  port: Number(values.port),
});
console.log(`
  ${base}   the load balancer: each connection goes to the next node
  ${url}
Try:
  node bin/parley.js send ${base} 'task 50 100 200' --stream
  kill -9 ${nodes[0]?.process.pid}   and send again: the other nodes take over
Press Ctrl+C to stop.`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

async function startNode(number: number): Promise<{ process: ChildProcess; port: number }> {
  const program = join(import.meta.dirname, '../bin/parley.js');
  const settings = ['--agent', values.agent, '--port', '0', '--store', url, '--public-url', base];
  // Webhooks to this machine are allowed, so that they can be tried.
  const open = ['--allow-network', '127.0.0.0/8', '--json'];
  const child = spawn(process.execPath, [program, 'serve', ...settings, ...open], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PARLEY_HOME: folder },
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', () => reject(new Error(`node ${number} did not start`)));
  });
  const { port, pid }: { port: number; pid: number } = JSON.parse(line);
  console.log(`node ${number}: http://127.0.0.1:${port}, process ${pid}`);
  return { process: child, port };
}

async function stop(): Promise<void> {
  await balancer.close();
  const running = nodes.filter(
    ({ process: { exitCode, signalCode } }) => exitCode === null && signalCode === null,
  );
  await Promise.all(
    running.map(({ process: child }) => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      return ended;
    }),
  );
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}
