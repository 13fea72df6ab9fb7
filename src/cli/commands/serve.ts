/** `parley serve`: serves an agent over HTTP until a signal ends it. */
import { VERSIONS, versionOf } from '../../protocol/index.ts';
import type { A2AAgent, AgentProfile, TaskStore } from '../../tasks/index.ts';
import { defined, isLoopback } from '../../base/index.ts';
import { serve } from '../../serve.ts';
import type { ServeOptions } from '../../server.ts';
import { authentication, AUTHENTICATION_FLAGS } from '../program/authentication.ts';
import { CODER_FLAGS, CODER_VARIABLES, MODELS } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { usageError } from '../program/exit.ts';
import { listOption, option, toggle, wholeNumber, publicUrl } from '../program/flags.ts';
import { DEFAULT_HOST, listenOn, portNumber, grpcOptions } from '../program/listen.ts';
import { createLog, LOG_LEVEL_HELP, type ServerLog } from '../program/log.ts';
import { parseRetention, LEASE_FLAG, openStore, storeLocation } from '../program/store-location.ts';
import { serverSigning } from '../program/signing.ts';
import { note } from '../program/terminal.ts';
import { readTls, reloadTls } from '../program/tls.ts';
import { serverTracer, TRACING_VARIABLES } from '../program/tracing.ts';
import { TRUST_PROXY_FLAG } from '../program/tls-flags.ts';
import { DEFAULT_PORT } from '../program/product.ts';
import {
  announce,
  DRAIN_MS,
  networks,
  noteDrain,
  SERVER_FLAGS,
  untilSignal,
  warnUnencrypted,
} from '../program/server-process.ts';

const FLAGS = {
  agent: option(
    'AGENT',
    'coder (the default), echo, bench, conformance, or a .ts or .js file that exports an agent.',
  ),
  ...CODER_FLAGS,
  model: option(
    'M',
    `The model of the coder and of agents without a model: ${MODELS} Only the coder can use the providers of settings.json.`,
  ),
  port: option('N', `The port; ${DEFAULT_PORT} by default. 0 picks a free port.`),
  host: option(
    'H',
    `The address to listen on; ${DEFAULT_HOST} by default. Addresses that are not loopback require --token or --keys.`,
  ),
  ...AUTHENTICATION_FLAGS,
  store: option(
    'S',
    'Where to store tasks and sessions: memory, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. By default in the data folder.',
  ),
  lease: LEASE_FLAG,
  ...SERVER_FLAGS,
  retention: {
    ...SERVER_FLAGS.retention,
    help: `${SERVER_FLAGS.retention.help} The age (or off) also applies to the sessions of the coding agent, counted from their last use. If no age is given, retentionDays in the settings applies to them.`,
  },
  'trust-proxy': TRUST_PROXY_FLAG,
  'require-extension': toggle("Refuse requests that do not name the agent's extensions."),
  'only-version': option('V', 'Support only this A2A version: 0.3 or 1.0. By default both.'),
  'allow-network': listOption(
    'CIDR',
    'Allow webhooks, fetch_url and MCP servers in this private network, for example 10.0.0.0/8.',
  ),
  'push-every-event': toggle(
    'Send the task to webhooks of A2A 0.3 after every event. By default, it is not sent after artifact updates.',
  ),
  console: toggle('Serve a web page at /console, where a person uses the agent in a browser.'),
  metrics: toggle(
    'Serve metrics for Prometheus at /metrics. They cover the whole process, and every client of this server may read them.',
  ),
  'allow-client-mcp': toggle(
    'Let clients of the coder add MCP servers that are local programs or in private networks.',
  ),
  'allow-auto-execute': toggle('Let clients of the coder turn off approvals for their sessions.'),
  'max-pending-bytes': option(
    'N',
    'The maximum memory, in bytes, for requests that are still arriving and answers that clients have not read yet; 512 MB by default. One client may use a quarter of it.',
  ),
  'max-task-bytes': option(
    'N',
    'The maximum size of a task with --store memory; 64 MB by default. A larger task fails.',
  ),
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  about:
    'Serves an agent over A2A, versions 0.3 and 1.0, with JSON-RPC, REST and gRPC, until it is interrupted. The coding agent is also served over ACP, at /acp.',
  flags: FLAGS,
  variables: {
    ...CODER_VARIABLES,
    PARLEY_LOG_LEVEL: LOG_LEVEL_HELP,
    ...TRACING_VARIABLES,
  },
  examples: [
    'parley serve --workspace ~/project',
    'parley serve --agent echo',
    'parley serve --agent ./examples/weather/agent.ts --port 4000',
    'parley serve --agent ./agent.ts --model google:gemini-3.8-flash',
    'parley serve --host 0.0.0.0 --keys users.txt --public-url https://agent.example',
    'parley serve --host 0.0.0.0 --keys users.txt --tls-cert cert.pem --tls-key key.pem',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  const host = values.host ?? DEFAULT_HOST;
  const port = portNumber('--port', values.port ?? DEFAULT_PORT);
  const authenticate = authentication(settings);
  if (!isLoopback(host) && !authenticate) {
    throw usageError(
      `other machines can reach ${host}, so authentication is required: add --token T or --keys FILE, or remove --host`,
    );
  }
  const retention = parseRetention(values.retention);
  const tls = readTls(values);
  const log = createLog(environment);
  const options: ServeOptions = {
    ...(tls && { tls }),
    ...grpcOptions(values),
    trustProxy: values['trust-proxy'],
    ...(retention && { retention }),
    logger: log,
    limits: defined({
      maxTaskBytes: byteCount('--max-task-bytes', values['max-task-bytes']),
      maxPendingBytes: byteCount('--max-pending-bytes', values['max-pending-bytes']),
    }),
    push: {
      allowNetworks: networks(values['allow-network']),
      everyEvent: values['push-every-event'],
    },
    console: values.console,
    publicUrl: publicUrl(values['public-url']),
    ...onlyVersion(values['only-version']),
    ...(authenticate && { authenticate }),
    ...serverSigning({
      file: values['sign-key'],
      memory: values.store === 'memory',
      environment,
      log,
    }),
  };
  await using open = new AsyncDisposableStack();
  open.defer(() => log.flush());
  const picked = await pickAgent(values.agent ?? 'coder', settings, log);
  open.defer(() => picked.close?.());
  const { agent, store } = picked;
  const metrics = values.metrics
    ? (await import('../program/metrics.ts')).serverMetrics(store)
    : undefined;
  open.defer(() => metrics?.close());
  const tracer = await serverTracer(environment, log);
  open.defer(() => tracer?.close());
  const server = serve(values['require-extension'] ? await requiring(agent) : agent, {
    ...options,
    ...picked.options,
    ...(tracer && { tracer }),
    ...(metrics && { routes: [...(picked.options?.routes ?? []), metrics.route] }),
    store,
  });
  metrics?.watch(server);
  open.defer(() => server.close(0));
  const listening = await listenOn(server, { host, port, flag: '--port' });
  const ended = untilSignal(log);
  process.on('SIGHUP', () => reloadTls(values, listening, log));
  warnUnencrypted(log, { host, tls, url: listening.url });
  announce({ listening, name: agent.profile.name, store, json: values.json });
  if (!values.json && process.stdout.isTTY) {
    note(`Try it: parley send ${listening.url} "list"    Stop it: Ctrl-C`);
  }
  picked.begin?.();
  log.info({ url: listening.url, agent: agent.profile.name, store: store.name }, 'ready');
  const code = await ended;
  noteDrain(server.handler.running, DRAIN_MS);
  await listening.close(DRAIN_MS);
  return code;
}

function byteCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return wholeNumber(flag, text, { min: 1, max: Number.MAX_SAFE_INTEGER });
}

function onlyVersion(text: string | undefined): Pick<ServeOptions, 'versions'> {
  if (text === undefined) return {};
  const version = versionOf(text);
  if (!version) throw usageError(`--only-version ${text}: use ${VERSIONS.join(' or ')}`);
  return { versions: [version] };
}

interface Picked {
  readonly agent: A2AAgent;
  readonly store: TaskStore;
  /** Options of the server for this agent, in addition to those from flags. */
  readonly options?: ServeOptions;
  /** Called when the server is ready. */
  begin?(): void;
  /** Closes the agent's resources, except the store. */
  close?(): Promise<void>;
}

/** The small agents of this program. */
const SMALL_AGENTS: Readonly<Record<string, () => Promise<Pick<Picked, 'agent' | 'options'>>>> = {
  echo: async () => ({ agent: (await import('../agents/echo.ts')).echo }),
  bench: async () => ({ agent: (await import('../agents/bench.ts')).bench }),
  conformance: async () => ({
    agent: (await import('../agents/conformance.ts')).conformance,
    options: { deduplicate: false, grpcScheme: true },
  }),
};

async function pickAgent(name: string, settings: Settings, log: ServerLog): Promise<Picked> {
  const { values, environment } = settings;
  const open = async (storeName: string) => {
    const place = storeLocation(values, environment, storeName);
    return { place, store: await openStore(place, environment, log) };
  };
  if (name === 'coder') return (await import('../coder/server.ts')).serveCoder(settings, log);
  const small = Object.hasOwn(SMALL_AGENTS, name) ? SMALL_AGENTS[name] : undefined;
  if (small) return { ...(await small()), ...(await open(name)) };
  const { isFrameworkAgent, loadAgentFile } = await import('../agents/agent-file.ts');
  const { agent, file, storeName } = await loadAgentFile(name);
  const { place, store } = await open(storeName);
  if (!isFrameworkAgent(agent)) return { agent, store };
  const { bridge } = await import('../agents/framework-agent.ts');
  try {
    const bridged = await bridge(agent, { file, model: values.model, environment, place });
    return { ...bridged, store };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Returns the agent with all its extensions required. If it has none, requires the development-tool extension. */
async function requiring(agent: A2AAgent): Promise<A2AAgent> {
  const { EXTENSION_URI } = await import('../../protocol/development-tool/index.ts');
  const own = agent.profile.extensions ?? [];
  const extensions = own.length > 0 ? own : [{ uri: EXTENSION_URI }];
  const profile: AgentProfile = {
    ...agent.profile,
    extensions: extensions.map((extension) => Object.assign({}, extension, { required: true })),
  };
  // The new object inherits from the agent, so that an instance of a class keeps its methods.
  return Object.create(agent, { profile: { value: profile, enumerable: true } }) as A2AAgent;
}
