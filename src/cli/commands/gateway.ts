/** `parley gateway`: serves models and agents behind one A2A endpoint, with API keys, until a signal ends it. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  ConfigError,
  type GatewayConfig,
  loadConfig,
  type LoadedConfig,
  type Gateway,
} from '../../gateway/index.ts';
import type { Register } from '../../gateway/register/index.ts';
import { StoreError } from '../../store/index.ts';
import { ModelError } from '../../agent/index.ts';
import type { Listening, TlsPair } from '../../server.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { isLoopback, reasonOf } from '../../base/index.ts';
import { isPostgresUrl } from '../../base/postgres/index.ts';
import { DATA_FOLDER_HELP, SECRET_KEY_VARIABLES, secretKeyOptions } from '../program/folders.ts';
import { EXIT, type ExitError, usageError } from '../program/exit.ts';
import { type Environment, listOption, option, toggle, publicUrl } from '../program/flags.ts';
import { DEFAULT_HOST, listenOn, portNumber, grpcOptions } from '../program/listen.ts';
import { createLog, LOG_LEVEL_HELP, type ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import {
  announce,
  DRAIN_MS,
  networks,
  noteDrain,
  SERVER_FLAGS,
  untilSignal,
  warnUnencrypted,
} from '../program/server-process.ts';
import {
  parseRetention,
  LEASE_FLAG,
  openStore,
  storeFailure,
  storeLocation,
  storeProblem,
} from '../program/store-location.ts';
import { serverSigning } from '../program/signing.ts';
import { complain, note, quoted } from '../program/terminal.ts';
import { readTls, reloadTls } from '../program/tls.ts';

const GATEWAY_PORT = '8090';
/** The interval for checking whether tasks are still running. */
const DRAIN_POLL_MS = 20;

const FLAGS = {
  port: option('N', `The port; ${GATEWAY_PORT} by default. 0 picks a free port.`),
  host: option(
    'H',
    `The address to listen on; ${DEFAULT_HOST} by default. On addresses other than loopback, the gateway starts only if there is a key, or an OIDC issuer in the configuration.`,
  ),
  config: option(
    'FILE',
    'The configuration file: providers, models and agents, as JSON with comments. SIGHUP reloads it, and the certificate of --tls-cert.',
  ),
  check: toggle('Check the configuration, print a summary and exit.'),
  store: option(
    'S',
    'Where to store tasks: memory, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. By default in the data folder. Keys and model cards are stored next to the tasks, or in the same database.',
  ),
  lease: LEASE_FLAG,
  ...SERVER_FLAGS,
  'allow-network': listOption(
    'CIDR',
    'Allow webhooks, and agents that callers register, in this private network, for example 10.0.0.0/8.',
  ),
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  about:
    'Serves models and agents behind one A2A endpoint, with API keys, until it is interrupted.',
  flags: FLAGS,
  variables: {
    GEMINI_API_KEY:
      'Enables Google as a provider. ANTHROPIC_API_KEY and OPENAI_API_KEY enable Anthropic and OpenAI.',
    PARLEY_HOME: DATA_FOLDER_HELP,
    ...SECRET_KEY_VARIABLES,
    PARLEY_SECRET_KEY: `${SECRET_KEY_VARIABLES.PARLEY_SECRET_KEY} The secret is also used to hash API keys.`,
    OTEL_EXPORTER_OTLP_ENDPOINT:
      'The address of the trace collector, unless the configuration sets one.',
    PARLEY_LOG_LEVEL: LOG_LEVEL_HELP,
  },
  examples: [
    'parley gateway',
    'parley gateway --config gateway.json --check',
    'parley gateway --config gateway.json --host 0.0.0.0 --public-url https://gateway.example',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  const { config: file } = values;
  if (values.check && file === undefined) {
    throw usageError('--check needs a configuration: add --config FILE');
  }
  let loaded: LoadedConfig | undefined;
  try {
    loaded = file === undefined ? undefined : await loadConfig(file, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) complain(problem);
    if (values.check) for (const warning of error.warnings) complain(`warning: ${warning}`);
    return EXIT.usage;
  }
  if (values.check && file !== undefined && loaded) {
    const { sayChecked } = await import('../gateway/check.ts');
    sayChecked(file, loaded, values.json);
    return EXIT.done;
  }
  const host = values.host ?? DEFAULT_HOST;
  const port = portNumber('--port', values.port ?? GATEWAY_PORT);
  const log = createLog(environment);
  for (const warning of loaded?.warnings ?? []) log.warn({}, warning);
  let config = loaded?.config ?? {};

  const tls = readTls(values);
  const { gateway, store, keyless } = await open(settings, config, host, log, tls);
  const listening = await listenOn(gateway, { host, port, flag: '--port' }).catch(async (error) => {
    await gateway.close(0);
    throw error;
  });
  // The key is created only after the start, because it would never be shown if the start failed.
  const firstKey = keyless ? await gateway.makeFirstKey() : undefined;
  const ended = untilSignal(log);
  warnUnencrypted(log, { host, tls, url: listening.url });
  let reloading = Promise.resolve();
  process.on('SIGHUP', () => {
    reloadTls(values, listening, log);
    if (file === undefined && values['tls-cert'] !== undefined) return;
    // Reloads run one after the other, so that the last one takes effect.
    reloading = reloading.then(async () => {
      config = (await reload(gateway, file, environment, log)) ?? config;
    });
  });
  const more = firstKey === undefined ? {} : { key: firstKey };
  announce({ listening, name: 'Parley gateway', store, json: values.json, more });
  if (firstKey !== undefined && !values.json) showKey(firstKey, listening.url);
  log.info({ url: listening.url, store: store.name }, 'ready');
  const code = await ended;
  const { drainSeconds = DRAIN_MS / 1000 } = config;
  await drain(gateway, listening, drainSeconds * 1000);
  await log.flush();
  return code;
}

/** Opens the gateway and its store. `keyless` is true if there is no key and no OIDC issuer. */
async function open(
  { values, environment }: Settings,
  config: GatewayConfig,
  host: string,
  log: ServerLog,
  tls: TlsPair | undefined,
) {
  const allowNetworks = networks(values['allow-network']);
  const address = publicUrl(values['public-url']);
  const retention = parseRetention(values.retention);
  const place = storeLocation(values, environment, 'gateway');
  const memory = place.kind === 'memory';
  const signing = serverSigning({ file: values['sign-key'], memory, environment, log });
  const [{ createGateway }, { needSecretKey, openGatewayRegister, unusableKeys }] =
    await Promise.all([import('../../gateway/index.ts'), import('../gateway/open-register.ts')]);
  needSecretKey(place, environment);
  const store = await openStore(place, environment, log);
  let register: Register | undefined;
  let gateway: Gateway | undefined;
  try {
    const opened = await openGatewayRegister(place, environment, log, store);
    const { pepper } = opened;
    ({ register } = opened);
    gateway = createGateway({
      config,
      store,
      register,
      pepper,
      logger: log,
      retention,
      allowNetworks,
      environment,
      ...(!memory && { secrets: secretKeyOptions(environment) }),
      version: VERSION,
      tls,
      ...grpcOptions(values),
      publicUrl: address,
      ...signing,
    });
    const unusable = await gateway.keys.unusable();
    if (unusable > 0) {
      log.warn(
        {},
        `${unusableKeys(unusable)}, so ${unusable === 1 ? 'it does' : 'they do'} not work here`,
      );
    }
    const keyless = !(await gateway.keys.any()) && config.keys?.oidc === undefined;
    // Other machines could reach the gateway immediately, so a key must exist before the start.
    if (keyless && !isLoopback(host)) throw noKeys(host, values.store);
    return { gateway, store, keyless };
  } catch (error) {
    if (gateway) {
      await gateway.close(0);
    } else {
      await register?.close();
      await store.close();
    }
    if (error instanceof StoreError) {
      throw place.kind === 'postgres' ? storeFailure(error) : storeProblem(error);
    }
    // The configuration is valid, but it refers to an invalid script, or to a variable with an invalid address.
    if (error instanceof ModelError) {
      const where = values.config === undefined ? '' : `${values.config}: `;
      throw usageError(`${where}${reasonOf(error)}`, { cause: error });
    }
    throw error;
  }
}

function noKeys(host: string, store: string | undefined): ExitError {
  const open = `other machines can reach ${host}, and there is no key yet`;
  if (store === 'memory') {
    return usageError(
      `${open}: keys cannot be created in advance for --store memory, so use --store sqlite:PATH`,
    );
  }
  // The error does not repeat a URL, which may contain a password.
  const where =
    store === undefined ? '' : ` --store ${isPostgresUrl(store) ? 'URL' : quoted(store)}`;
  return usageError(
    `${open}: create one with parley keys create --name first --scope '*'${where}, or remove --host`,
  );
}

/** Shows the first key on standard error, because standard output has only the ready line. */
function showKey(key: string, url: string): void {
  note('The first key of this gateway, with all scopes. It is shown only once:');
  process.stderr.write(`\n    ${key}\n\n`);
  note(`Try it: curl ${url}/a2a/tasks/send -H 'Authorization: Bearer ${key}' \\`);
  note(`          -H 'Content-Type: application/json' \\`);
  note(`          -d '{"message":{"role":"user","content":"Hello"}}'`);
}

/** Loads the configuration again and returns it, or returns undefined if the old one stays in effect. */
async function reload(
  gateway: Gateway,
  file: string | undefined,
  environment: Environment,
  log: ServerLog,
): Promise<GatewayConfig | undefined> {
  if (file === undefined) {
    log.warn(
      {},
      'SIGHUP: there is no configuration to reload; start the gateway with --config FILE',
    );
    return undefined;
  }
  try {
    const { config, warnings } = await loadConfig(file, environment, { again: true });
    const fixed = gateway.reload(config);
    for (const warning of warnings) log.warn({}, warning);
    if (fixed.length > 0) {
      log.warn({ file, fields: fixed }, 'these fields take effect only after a restart');
    }
    log.info({ file }, 'configuration reloaded');
    note(`${file} was reloaded`);
    return config;
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [reasonOf(error)];
    log.error({ file, problems }, 'the new configuration is invalid; the old one stays in effect');
    return undefined;
  }
}

/**
 * Reports to load balancers that the gateway is stopping. Waits until no task is running or `ms` have passed, and then
 * closes the server.
 */
async function drain(gateway: Gateway, listening: Listening, ms: number): Promise<void> {
  const until = performance.now() + ms;
  gateway.drain();
  noteDrain(gateway.running, ms);
  while (gateway.running > 0 && performance.now() < until) await delay(DRAIN_POLL_MS);
  await listening.close(Math.max(0, until - performance.now()));
}
