// A gateway in this process, on a free port, with its register in memory.
import type * as z from 'zod';
import type { SigningKeys } from '../../src/base/signing/index.ts';
import type { ApiScope } from '../../src/gateway/api/caller.ts';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { openRegister } from '../../src/gateway/register/sqlite-register.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import type { AtOnce } from './at-once.ts';
import type { Keys } from '../../src/gateway/keys/keys.ts';
import { type Logger, memoryStore, type TaskStore } from '../../src/tasks/index.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface GatewayStart {
  readonly config?: z.input<typeof GatewayConfig>;
  readonly store?: TaskStore;
  /** The register's file; in memory unless told. */
  readonly register?: string;
  readonly environment?: Record<string, string>;
  readonly allowNetworks?: readonly string[];
  readonly logger?: Logger;
  readonly signing?: SigningKeys;
  readonly grpc?: GatewayOptions['grpc'];
  /** The key for secrets at rest; a random one unless told. */
  readonly secretKey?: string;
}

/** A gateway whose register is in SQLite. */
export type SqliteGateway = Omit<Gateway, 'keys'> & { readonly keys: AtOnce<Keys> };

export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly gateway: SqliteGateway;
  /** A key that may do everything in its workspace, or only so much. */
  key(workspace?: string, ...scopes: ApiScope[]): string;
  /** Asks as the owner of the key; `body` is sent as JSON. */
  ask(
    key: string | undefined,
    verb: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>;
}

export async function startGateway(start: GatewayStart = {}): Promise<RunningGateway> {
  const { environment = {}, allowNetworks = [], logger = silent } = start;
  const register = openRegister(start.register, silent);
  const pepper = openPepper({ register, path: start.register });
  const gateway: SqliteGateway = withKeysAtOnce({
    config: GatewayConfig.parse(start.config ?? {}),
    store: start.store ?? memoryStore(),
    register,
    pepper,
    version: '0.0.0',
    logger,
    environment,
    allowNetworks,
    ...(start.signing && { signing: start.signing }),
    grpc: start.grpc,
    ...(start.secretKey !== undefined && { secrets: { secretKey: start.secretKey } }),
  });
  const listening = await gateway.listen(0);
  return {
    url: listening.url,
    gateway,
    key(workspace = 'default', ...scopes) {
      const chosen = scopes.length > 0 ? scopes : ['*' as const];
      const fields = { workspace, name: 'test', scopes: [...chosen] };
      return gateway.keys.create(fields, 'test').secret;
    },
    ask(key, verb, path, body, headers = {}) {
      return fetch(listening.url + path, {
        method: verb,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    },
    [Symbol.asyncDispose]: () => listening.close(),
  };
}

function withKeysAtOnce(options: GatewayOptions): SqliteGateway {
  return createGateway(options) as SqliteGateway;
}
