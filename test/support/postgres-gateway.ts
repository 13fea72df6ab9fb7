// Gateways in this process that share a PostgreSQL database.
import type * as z from 'zod';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { openPostgresRegister } from '../../src/gateway/register/postgres-register.ts';
import { PostgresStore } from '../../src/store/index.ts';
import { type Logger, memoryStore, type TaskStore } from '../../src/tasks/index.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const SECRET_KEY = 'a secret that all nodes have';

export interface PostgresNode extends AsyncDisposable {
  readonly url: string;
  readonly gateway: Gateway;
  ask(key: string, verb: string, path: string, body?: unknown): Promise<Response>;
}

export interface PostgresNodeOptions {
  readonly config?: z.input<typeof GatewayConfig>;
  readonly store?: TaskStore;
  readonly logger?: Logger;
  readonly allowNetworks?: readonly string[];
  /** The time between two looks for changes, if notifications are lost. */
  readonly pollMs?: number;
  /** How long the database may be away before requests are refused. */
  readonly staleMs?: number;
}

export async function startPostgresNode(
  database: string,
  options: PostgresNodeOptions = {},
): Promise<PostgresNode> {
  const { logger = silent, pollMs, staleMs, allowNetworks = [] } = options;
  const place = options.store instanceof PostgresStore ? options.store : database;
  const register = await openPostgresRegister(place, logger, { pollMs, staleMs });
  const gateway = createGateway({
    config: GatewayConfig.parse(options.config ?? {}),
    store: options.store ?? memoryStore(),
    register,
    pepper: openPepper({ register, secretKey: SECRET_KEY }),
    secrets: { secretKey: SECRET_KEY },
    version: '0.0.0',
    logger,
    environment: {},
    allowNetworks,
  });
  const listening = await gateway.listen(0);
  return {
    url: listening.url,
    gateway,
    ask: (key, verb, path, body) =>
      fetch(listening.url + path, {
        method: verb,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => listening.close(0),
  };
}
