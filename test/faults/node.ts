/**
 * One node of the fault tests, as a process:
 *
 *   node node.ts '{"url":"postgres://…","port":4000,"leaseMs":2000,"listen":true}'
 *
 * It writes a line to standard output when it is ready.
 */
import { postgresStore } from '../../src/store/index.ts';
import { serve } from '../../src/server.ts';
import pg from 'pg';
import { faultAgent } from './agent.ts';

export interface NodeSettings {
  readonly url: string;
  readonly port: number;
  readonly leaseMs: number;
  readonly listen: boolean;
}

const { url, port, leaseMs, listen }: NodeSettings = JSON.parse(process.argv[2] ?? '{}');
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const logger = process.env['PARLEY_FAULTS_LOG'] ? undefined : quiet;
const store = await postgresStore(url, {
  ...(logger && { logger }),
  poolSize: 6,
  retryMs: leaseMs,
  cluster: { leaseMs, listen },
});
const tools = new pg.Pool({ connectionString: url, max: 2 });
tools.on('error', () => {});
const agent = faultAgent(store, async (taskId) => {
  await tools.query('INSERT INTO public.tool_runs (task_id) VALUES ($1)', [taskId]);
});
const server = serve(agent, {
  store,
  ...(logger && { logger }),
  push: { allowNetworks: ['127.0.0.0/8'], everyEvent: true, timeoutMs: 2000 },
});
const listening = await server.listen(port);
process.stdout.write('ready\n');
process.once('SIGTERM', () => void listening.close(1000).then(() => process.exit(0)));
