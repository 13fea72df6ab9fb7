/**
 * The gateway as a part of another program. It reads no environment variables and no configuration file, handles no
 * signals, and listens on no port.
 */
import type { SigningKeys } from '../../base/signing/index.ts';
import type { FetchHandler, NodeHandler } from '../../http/index.ts';
import { consoleLogger, type Logger, memoryStore, type TaskStore } from '../../tasks/index.ts';
import { DEFAULT_WORKSPACE } from '../api/caller.ts';
import { parsed } from '../api/route.ts';
import { ConfigError, type GatewayConfig, parseConfig } from '../config.ts';
import { createGateway as create } from '../gateway.ts';
import { openPepper } from '../keys/pepper.ts';
import { NewKey } from '../keys/schema.ts';
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
   * The file of the register, with the keys, model cards, agents and the spending. A second file next to it,
   * `FILE.pepper`, has the secret for hashing keys, unless `secretKey` is set. Default: in memory.
   */
  readonly registerFile?: string;
  /**
   * A secret of your choice. It is used to encrypt stored secrets and to hash keys. If undefined, stored secrets are
   * encrypted with a key in a third file, `FILE.key`, which is created when it is first needed.
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
  /** Private networks that webhooks and agents may be in, in CIDR notation. */
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

/** A gateway in another program. */
export interface EmbeddedGateway {
  /** The handler for node:http, Express and Connect. */
  readonly node: NodeHandler;
  /** The handler for servers that use functions from `Request` to `Response`. */
  readonly fetch: FetchHandler;
  /** Creates a key and returns its secret, which cannot be read again. Throws an A2AError if an option is invalid. */
  createKey(options: GatewayKeyOptions): string;
  /**
   * Changes the configuration without interrupting streams and tasks. If the new configuration is invalid, throws a
   * ConfigError and changes nothing. Returns the names of changed fields that take effect only in a new gateway.
   */
  reload(config: GatewaySettings): readonly string[];
  /** Refuses new requests, waits up to `ms` for running tasks, and closes the store and the register. */
  close(ms?: number): Promise<void>;
}

/**
 * Creates a gateway. Throws a ConfigError if the configuration is invalid, and a StoreError if the register cannot be
 * opened.
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
  const register = openRegister(path, logger, { busyMs: SERVER_BUSY_MS });
  try {
    const pepper = openPepper({ register, path, secretKey: environment['PARLEY_SECRET_KEY'] });
    const gateway = create({
      config: checked,
      store: options.store ?? memoryStore(),
      register,
      pepper,
      ...(path !== undefined && {
        secrets: {
          secretKey: environment['PARLEY_SECRET_KEY'],
          previousSecretKey: environment['PARLEY_PREVIOUS_SECRET_KEY'],
          secretKeyFile: `${path}.key`,
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
    return {
      node: gateway.node,
      fetch: gateway.fetch,
      createKey({ name, workspace = DEFAULT_WORKSPACE, scopes = ['*'] }) {
        const fields = parsed(NewKey, { name, scopes });
        const made = gateway.keys.create({ ...fields, workspace }, 'program');
        if (made instanceof Promise) throw new Error('the register must be in SQLite');
        return made.secret;
      },
      reload: (next) => gateway.reload(checkedConfig(next, environment)),
      close: (ms) => gateway.close(ms),
    };
  } catch (error) {
    register.close();
    throw error;
  }
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
