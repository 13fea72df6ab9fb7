/**
 * One node of the fault tests, as a process: a server of the agent in agent.ts, and a gateway with budgets. They have
 * databases of their own, because a node takes over every unfinished task that it finds in its database.
 *
 *   node node.ts '{"name":"1.1","agent":{"port":4000,"url":"postgres://…"},…}'
 *
 * It writes a line to standard output when it is ready, and when it has lost its lease. It ends when its standard input
 * ends, so that no node is left behind if the run is killed.
 */
import { GatewayConfig } from '../../src/gateway/config.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { openPostgresRegister } from '../../src/gateway/register/postgres-register.ts';
import { postgresStore } from '../../src/store/index.ts';
import { serve } from '../../src/server.ts';
import { consoleLogger, type Logger } from '../../src/tasks/index.ts';
import pg from 'pg';
import { faultAgent } from './agent.ts';
import {
  BEHIND,
  BUDGET,
  budgetOf,
  CURRENCY,
  MODEL,
  PRICE,
  SECRET_KEY,
  WORKSPACES,
} from './names.ts';

export interface NodeSettings {
  /** The name of this process. The provider sees it in the path of each request. */
  readonly name: string;
  readonly agent: ServerSettings;
  /** Undefined: the process has no gateway. */
  readonly gateway?: ServerSettings;
  /** The address of the provider of the gateway's model. */
  readonly vendor: string;
  /** The address of the agent behind the gateway. */
  readonly behind: string;
  /** Undefined: the default. */
  readonly leaseMs?: number;
  readonly listen: boolean;
}

interface ServerSettings {
  readonly port: number;
  readonly url: string;
}

const settings: NodeSettings = JSON.parse(process.argv[2] ?? '{}');
const { name, agent, gateway, vendor, behind, leaseMs, listen } = settings;
process.stdin.resume().once('end', () => process.exit(0));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const log = process.env['PARLEY_FAULTS_LOG'] ? consoleLogger : quiet;
const logger: Logger = {
  ...log,
  warn(fields, text) {
    // The checker of budgets must know it: other nodes may have released the reservations of this one.
    if (/lease of this node has ended|have removed this node/.test(text)) {
      process.stdout.write('expelled\n');
    }
    log.warn(fields, text);
  },
};
const LOOPBACK = ['127.0.0.0/8'];
const PRICING = { inputPricePerToken: PRICE, outputPricePerToken: PRICE, currency: CURRENCY };

async function storeOf({ url }: ServerSettings) {
  return postgresStore(url, {
    logger,
    poolSize: 6,
    secretKey: SECRET_KEY,
    ...(leaseMs !== undefined && { retryMs: leaseMs }),
    cluster: { leaseMs, listen },
  });
}

async function startAgent(): Promise<void> {
  const store = await storeOf(agent);
  const tools = new pg.Pool({ connectionString: agent.url, max: 2 });
  tools.on('error', () => {});
  const executor = faultAgent(store, async (taskId) => {
    await tools.query('INSERT INTO public.tool_runs (task_id) VALUES ($1)', [taskId]);
  });
  const push = { allowNetworks: LOOPBACK, everyEvent: true, timeoutMs: 2000 };
  await serve(executor, { store, logger, push }).listen(agent.port);
}

async function startGateway(server: ServerSettings): Promise<void> {
  const store = await storeOf(server);
  const register = await openPostgresRegister(store, logger);
  const provider = {
    type: 'openai-compatible' as const,
    baseUrl: `${vendor}/${name}/v1`,
    apiKey: 'sk-0123456789',
    models: [MODEL],
  };
  await createGateway({
    config: GatewayConfig.parse({
      providers: { vendor: provider },
      models: { [MODEL]: { provider: 'vendor', pricing: PRICING } },
      budgets: {
        workspaces: Object.fromEntries(
          WORKSPACES.map(({ name, isMoney }) => [name, budgetOf(BUDGET, isMoney)]),
        ),
      },
      agents: { [BEHIND]: { url: behind } },
    }),
    store,
    register,
    pepper: openPepper({ register, secretKey: SECRET_KEY }),
    secrets: { secretKey: SECRET_KEY },
    version: '0.0.0',
    logger,
    environment: {},
    allowNetworks: LOOPBACK,
  }).listen(server.port);
}

await Promise.all([startAgent(), gateway && startGateway(gateway)]);
process.stdout.write('ready\n');
