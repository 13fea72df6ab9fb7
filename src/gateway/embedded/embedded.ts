/**
 * The gateway as a part of another program. It reads no environment variables and no configuration file, handles no
 * signals, and listens on no port.
 */
import type { SigningKeys } from '../../base/signing/index.ts';
import { PostgresStore } from '../../store/index.ts';
import type { FetchHandler, NodeHandler } from '../../http/index.ts';
import { consoleLogger, type Logger, memoryStore, type TaskStore } from '../../tasks/index.ts';
import { DEFAULT_WORKSPACE } from '../api/caller.ts';
import { parsed } from '../api/route.ts';
import { ConfigError, type GatewayConfig, parseConfig } from '../config.ts';
import { createGateway as createServer } from '../gateway.ts';
import { openPepper } from '../keys/pepper.ts';
import { NewKey } from '../keys/schema.ts';
import { openPostgresRegister } from '../register/postgres-register.ts';
import type { Register } from '../register/register.ts';
import { openRegister, SERVER_BUSY_MS } from '../register/sqlite-register.ts';

/**
 * The configuration of a gateway: the content of the file for `parley gateway --config`, as an object. The JSON Schema
 * `gateway.schema.json` in the package describes every field.
 */
export type GatewaySettings = Readonly<Record<string, unknown>>;

/** The options of `createGateway`. */
export interface GatewayOptions {
  /** The task store. The gateway closes it. Default: in memory. */
  readonly store?: TaskStore;
  /**
   * The file of the register, with the keys, model cards, agents, usage and audit log. A second file next to it,
   * `FILE.pepper`, has the secret for hashing keys, unless `secretKey` or PARLEY_SECRET_KEY in `environment` is set.
   * Default: the register is in memory.
   */
  readonly registerFile?: string;
  /**
   * The register in PostgreSQL, from `postgresRegister`, for several gateways with one database. `store` must be the
   * store that was given to `postgresRegister`, and `secretKey` must be the same in all gateways.
   */
  readonly register?: SharedRegister;
  /**
   * A secret of your choice. It is used to hash keys, to encrypt the headers of registered agents, and to encrypt the
   * headers and metadata that the gateway forwards to agents. Default: PARLEY_SECRET_KEY in `environment`. If neither
   * is set, but `registerFile` is, a key in a third file, `FILE.key`, encrypts the headers and the metadata. `FILE.key`
   * is created when it is first needed.
   */
  readonly secretKey?: string;
  /**
   * Environment variables, such as `process.env`. They contain the vendors' API keys, the settings of OpenTelemetry,
   * and the values of `${NAME}` in the configuration. Default: none.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Receives the log lines. Default: the console. */
  readonly logger?: Logger;
  /** The address of the gateway for clients, with the path at which it is mounted. */
  readonly publicUrl?: string;
  /** The keys that sign webhooks and agent cards. Default: a new key for this process, which signs only webhooks. */
  readonly signing?: SigningKeys;
  /** Private networks that webhooks and registered agents may be in, in CIDR notation. Default: none. */
  readonly allowNetworks?: readonly string[];
  /** The version on the gateway's agent card. Default: 1.0.0. */
  readonly version?: string;
}

/** A key for `createKey`. */
export interface GatewayKeyOptions {
  readonly name: string;
  /** The workspace of the key. Default: `default`. */
  readonly workspace?: string;
  /** The scopes, for example `tasks:write`. Default: `*`, which means all scopes in the workspace. */
  readonly scopes?: readonly string[];
}

/** A register that several gateways share, from `postgresRegister`. The gateway that uses this object closes it. */
export interface SharedRegister {
  /** The store that has the tasks in the same database. */
  readonly store: TaskStore;
}

const registers = new WeakMap<SharedRegister, Register>();

/**
 * Opens the register of a gateway in the database of a task store, and creates its tables if needed. Throws a
 * StoreError if this fails, and a TypeError if the store was not opened by `postgresStore`.
 *
 *   const store = await postgresStore('postgres://parley@localhost/parley', { secretKey });
 *   const gateway = createGateway(config, { store, register: await postgresRegister(store), secretKey });
 */
export async function postgresRegister(
  store: TaskStore,
  options: { readonly logger?: Logger } = {},
): Promise<SharedRegister> {
  if (!(store instanceof PostgresStore)) {
    throw new TypeError('postgresRegister needs a store that postgresStore has opened');
  }
  const register = await openPostgresRegister(store, options.logger ?? consoleLogger);
  const shared = { store };
  registers.set(shared, register);
  return shared;
}

/** A gateway in another program. */
export interface EmbeddedGateway {
  /** The handler for node:http, Express and Connect. */
  readonly node: NodeHandler;
  /** The handler for servers that use functions from `Request` to `Response`. */
  readonly fetch: FetchHandler;
  /**
   * Creates a key and returns its secret, which cannot be read again. Throws an A2AError if an option is invalid. Use
   * `createSharedKey` if the register is in PostgreSQL.
   */
  createKey(options: GatewayKeyOptions): string;
  /** Like `createKey`, for every kind of register. */
  createSharedKey(options: GatewayKeyOptions): Promise<string>;
  /**
   * Changes the configuration without interrupting streams and tasks. If the new configuration is invalid, throws a
   * ConfigError and changes nothing. Returns the names of changed fields that take effect only in a new gateway.
   */
  reload(config: GatewaySettings): readonly string[];
  /**
   * Refuses new requests, waits up to `ms` milliseconds (default: 0) for running tasks, and closes the store and the
   * register.
   */
  close(ms?: number): Promise<void>;
}

/**
 * Creates a gateway. Throws a ConfigError if the configuration is invalid, and a StoreError if the register cannot be
 * opened. Throws a TypeError if the other options do not fit the register from `postgresRegister`.
 *
 *   const gateway = createGateway({ providers: { openai: { type: 'openai', apiKey } } });
 *   http.createServer(gateway.node).listen(8090);
 */
export function createGateway(
  config: GatewaySettings = {},
  options: GatewayOptions = {},
): EmbeddedGateway {
  const { registerFile: path, secretKey, publicUrl, allowNetworks = [] } = options;
  const { logger = consoleLogger, version = '1.0.0' } = options;
  const environment: Readonly<Record<string, string | undefined>> = {
    ...options.environment,
    ...(secretKey !== undefined && { PARLEY_SECRET_KEY: secretKey }),
  };
  const checked = checkedConfig(config, environment);
  const shared = options.register && sharedRegister(options);
  const register = shared ?? openRegister(path, logger, { busyMs: SERVER_BUSY_MS });
  const isStored = shared !== undefined || path !== undefined;
  try {
    const pepper = openPepper({ register, path, secretKey: environment['PARLEY_SECRET_KEY'] });
    const gateway = createServer({
      config: checked,
      store: options.store ?? memoryStore(),
      register,
      pepper,
      ...(isStored && {
        secrets: {
          secretKey: environment['PARLEY_SECRET_KEY'],
          previousSecretKey: environment['PARLEY_PREVIOUS_SECRET_KEY'],
          ...(path !== undefined && { secretKeyFile: `${path}.key` }),
        },
      }),
      version,
      logger,
      environment,
      allowNetworks,
      publicUrl,
      ...(options.signing && { signing: options.signing }),
    });
    gateway.start();
    const create = ({ name, workspace = DEFAULT_WORKSPACE, scopes = ['*'] }: GatewayKeyOptions) => {
      const fields = parsed(NewKey, { name, scopes });
      return gateway.keys.create({ ...fields, workspace }, 'program');
    };
    return {
      node: gateway.node,
      fetch: gateway.fetch,
      createKey(key) {
        if (shared) throw new Error('the register is in PostgreSQL: use createSharedKey');
        const made = create(key);
        if (made instanceof Promise) throw new Error('the register must be in SQLite');
        return made.secret;
      },
      createSharedKey: async (key) => (await create(key)).secret,
      reload: (next) => gateway.reload(checkedConfig(next, environment)),
      close: (ms) => gateway.close(ms),
    };
  } catch (error) {
    // A shared register stays open, because the caller may try again.
    if (!shared) void register.close();
    throw error;
  }
}

/** Returns the register in the options. Throws a TypeError if the other options do not fit it. */
function sharedRegister({ register, store, registerFile, ...options }: GatewayOptions): Register {
  const found = register && registers.get(register);
  if (!found) throw new TypeError('register must come from postgresRegister');
  if (store !== register.store) {
    throw new TypeError('store must be the store that was given to postgresRegister');
  }
  if (registerFile !== undefined) throw new TypeError('use either register or registerFile');
  const secretKey = options.secretKey ?? options.environment?.['PARLEY_SECRET_KEY'] ?? '';
  if (secretKey === '') {
    throw new TypeError('a register in PostgreSQL needs secretKey, the same in all gateways');
  }
  return found;
}

const NAME = 'config';

/**
 * Validates the configuration in the same way as a configuration file. Error messages contain the name of the field,
 * but no line number.
 */
function checkedConfig(
  config: GatewaySettings,
  environment: Readonly<Record<string, string | undefined>>,
): GatewayConfig {
  try {
    return parseConfig(NAME, JSON.stringify(config), environment).config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.problems.map((problem) => problem.replace(/^config:(?:\d+:)? /, ''));
    throw new ConfigError(problems, { cause: error });
  }
}
