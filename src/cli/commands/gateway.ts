/** `parley gateway`: models and agents behind one A2A endpoint, with keys, until a signal ends it. */
import { reasonOf } from '../../base/index.ts';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ConfigError,
  type GatewayConfig,
  loadConfig,
  type LoadedConfig,
  type Gateway,
} from '../../gateway/index.ts';
import type { Register } from '../../gateway/register/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { StoreError } from '../../store/index.ts';
import { ModelError } from '../../agent/index.ts';
import { isLoopback } from '../../http/index.ts';
import type { Listening } from '../../server.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, type ExitError, usageError } from '../program/exit.ts';
import { type Environment, wholeNumber } from '../program/flags.ts';
import { explainListen } from '../program/listen-error.ts';
import { createLog, type ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import {
  announce,
  DEFAULT_HOST,
  DRAIN_MS,
  networks,
  noteDrain,
  publicUrl,
  untilSignal,
} from '../program/server-process.ts';
import { openStore, storeLocation } from '../program/store-location.ts';
import { complain, note, quoted } from '../program/terminal.ts';
import { unusableKeys } from '../gateway/unusable-keys.ts';

const GATEWAY_PORT = '8090';
/** Between two looks at whether something is still under way. */
const DRAIN_LOOK_MS = 20;

const FLAGS = {
  port: { type: 'string', value: 'N', help: `${GATEWAY_PORT} by default; 0 picks a free one.` },
  host: {
    type: 'string',
    value: 'H',
    help: `${DEFAULT_HOST} by default; others need a key that is there already.`,
  },
  config: {
    type: 'string',
    value: 'FILE',
    help: 'Providers, models, agents and more: JSON with comments. SIGHUP reads it again.',
  },
  check: { type: 'boolean', help: 'Say what is in the configuration, or wrong with it, and end.' },
  store: {
    type: 'string',
    value: 'S',
    help: 'memory, or sqlite:PATH; in the data folder by default. Keys and cards are in a register beside it.',
  },
  durability: {
    type: 'string',
    value: 'D',
    help: 'normal (the default) survives a crash of the process, full one of the machine.',
  },
  'public-url': { type: 'string', value: 'U', help: 'Where clients reach it, for the cards.' },
  'allow-network': {
    type: 'string',
    multiple: true,
    value: 'CIDR',
    help: 'A private network that webhooks, and agents that callers register, may be in: 10.0.0.0/8.',
  },
  json: { type: 'boolean', help: 'Print the ready line as JSON.' },
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  name: 'gateway',
  operands: [],
  about: 'Serves models and agents behind one A2A endpoint, with keys, until it is interrupted.',
  flags: FLAGS,
  variables: {
    GEMINI_API_KEY:
      'Makes Google a provider whose models can be named; ANTHROPIC_API_KEY and OPENAI_API_KEY likewise.',
    PARLEY_HOME: 'The data folder.',
    PARLEY_SECRET_KEY: 'Encrypts secrets at rest, and is part of how keys are hashed.',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'A collector for traces, unless the configuration names one.',
    PARLEY_LOG_LEVEL: 'trace, debug, info, warn (the default), error or silent.',
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
    throw usageError('--check needs to know what to check: add --config FILE');
  }
  let loaded: LoadedConfig | undefined;
  try {
    loaded = file === undefined ? undefined : await loadConfig(file, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) complain(problem);
    return EXIT.usage;
  }
  if (values.check && file !== undefined && loaded) {
    const { sayChecked } = await import('../gateway/check.ts');
    sayChecked(file, loaded, environment, values.json);
    return EXIT.done;
  }
  const host = values.host ?? DEFAULT_HOST;
  const port = wholeNumber('--port', values.port ?? GATEWAY_PORT, { min: 0, max: 65_535 });
  const log = createLog(environment);
  for (const warning of loaded?.warnings ?? []) log.warn({}, warning);
  let config = loaded?.config ?? {};

  const { gateway, store, keyless } = await open(settings, config, { host, log });
  let listening: Listening;
  try {
    listening = await gateway.listen(port, host);
  } catch (error) {
    await gateway.close(0);
    throw explainListen(error, host, port, '--port');
  }
  // Only now: a key that was made for a start that failed would never be shown.
  const firstKey = keyless ? gateway.makeFirstKey() : undefined;
  const ended = untilSignal(log);
  let reading = Promise.resolve();
  process.on('SIGHUP', () => {
    // One after the other, so that the last file is the one that stays.
    reading = reading.then(async () => {
      config = (await reread(gateway, file, environment, log)) ?? config;
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

interface Opened {
  readonly gateway: Gateway;
  readonly store: TaskStore;
  /** Nobody could call it. */
  readonly keyless: boolean;
}

async function open(
  { values, environment }: Settings,
  config: GatewayConfig,
  { host, log }: { readonly host: string; readonly log: ServerLog },
): Promise<Opened> {
  const allowNetworks = networks(values['allow-network']);
  const address = publicUrl(values['public-url']);
  const place = await storeLocation(values, environment, 'gateway');
  const [{ createGateway }, { openRegister, SERVER_BUSY_MS }, { registerPath }, { openPepper }] =
    await Promise.all([
      import('../../gateway/index.ts'),
      import('../../gateway/register/index.ts'),
      import('../../gateway/register/index.ts'),
      import('../../gateway/keys/index.ts'),
    ]);
  const store = await openStore(place, environment, log);
  let register: Register | undefined;
  let gateway: Gateway | undefined;
  try {
    const path = place.kind === 'memory' ? undefined : registerPath(place.file);
    register = openRegister(path, log, { busyMs: SERVER_BUSY_MS });
    const pepper = openPepper({ register, path, secretKey: environment['PARLEY_SECRET_KEY'] });
    gateway = createGateway({
      config,
      store,
      register,
      pepper,
      logger: log,
      allowNetworks,
      environment,
      version: VERSION,
      ...address,
    });
    const unusable = gateway.keys.unusable();
    if (unusable > 0) {
      log.warn(
        {},
        `${unusableKeys(unusable)}, and ${unusable === 1 ? 'opens' : 'open'} nothing here`,
      );
    }
    const keyless = !gateway.keys.any() && config.keys?.oidc === undefined;
    // Others reach it at once; who is to have a key is to be settled before.
    if (keyless && !isLoopback(host)) throw noKeys(host, values.store);
    return { gateway, store, keyless };
  } catch (error) {
    if (gateway) {
      await gateway.close(0);
    } else {
      register?.close();
      await store.close();
    }
    if (error instanceof StoreError) throw explainStore(error);
    // A script that is none, or a variable that is no address: well-formed, and leads nowhere.
    if (error instanceof ModelError) {
      const where = values.config === undefined ? '' : `${values.config}: `;
      throw usageError(`${where}${reasonOf(error)}`, { cause: error });
    }
    throw error;
  }
}

function noKeys(host: string, store: string | undefined): ExitError {
  const open = `${host} can be reached by others, and there is no key yet`;
  if (store === 'memory') {
    return usageError(
      `${open}, nor can one be made for a store in memory: use --store sqlite:PATH`,
    );
  }
  const where = store === undefined ? '' : ` --store ${quoted(store)}`;
  return usageError(
    `${open}: make one with parley keys create --name first --scope '*'${where}, or leave --host out`,
  );
}

function explainStore(error: StoreError): ExitError {
  const hint = error.hint === undefined ? '' : ` (${error.hint.replace(/\.$/, '')})`;
  return usageError(`${error.message}${hint}: use --store memory or --store sqlite:PATH`, {
    cause: error,
  });
}

/** How to use it, on standard error: the ready line stays the only one on standard output. */
function showKey(key: string, url: string): void {
  note('The first key of this gateway, with every scope. It is not shown again:');
  process.stderr.write(`\n    ${key}\n\n`);
  note(`Try it: curl ${url}/a2a/tasks/send -H 'Authorization: Bearer ${key}' \\`);
  note(`          -H 'Content-Type: application/json' \\`);
  note(`          -d '{"message":{"role":"user","content":"Hello"}}'`);
}

/** The configuration that is in force now; undefined: the one that was. */
async function reread(
  gateway: Gateway,
  file: string | undefined,
  environment: Environment,
  log: ServerLog,
): Promise<GatewayConfig | undefined> {
  if (file === undefined) {
    log.warn({}, 'there is no configuration to read again: start with --config FILE');
    return undefined;
  }
  try {
    const { config, warnings } = await loadConfig(file, environment, { again: true });
    const fixed = gateway.reload(config);
    for (const warning of warnings) log.warn({}, warning);
    if (fixed.length > 0) {
      log.warn({ file, fields: fixed }, 'these fields count only after a new start');
    }
    log.info({ file }, 'the configuration was read again');
    note(`${file} was read again`);
    return config;
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [reasonOf(error)];
    log.error({ file, problems }, 'the configuration cannot be used; the one before stays');
    return undefined;
  }
}

/** Those who send requests are told to go elsewhere, and are still served until nothing is under way. */
async function drain(gateway: Gateway, listening: Listening, ms: number): Promise<void> {
  const until = performance.now() + ms;
  gateway.drain();
  noteDrain(gateway.running, ms);
  while (gateway.running > 0 && performance.now() < until) await delay(DRAIN_LOOK_MS);
  await listening.close(Math.max(0, until - performance.now()));
}
