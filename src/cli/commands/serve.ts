/** `parley serve`: an agent behind HTTP, until a signal ends it. */
import { VERSIONS, versionOf } from '../../protocol/index.ts';
import type { A2AAgent, AgentProfile, TaskStore } from '../../tasks/index.ts';
import { isLoopback } from '../../http/index.ts';
import { type Listening, serve, type ServeOptions } from '../../server.ts';
import { authentication } from '../program/authentication.ts';
import { CODER_FLAGS, CODER_VARIABLES } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { usageError } from '../program/exit.ts';
import { wholeNumber } from '../program/flags.ts';
import { explainListen } from '../program/listen-error.ts';
import { createLog, type ServerLog } from '../program/log.ts';
import { openStore, storeLocation } from '../program/store-location.ts';
import { note } from '../program/terminal.ts';
import { DEFAULT_PORT } from '../program/product.ts';
import {
  announce,
  DEFAULT_HOST,
  DRAIN_MS,
  networks,
  noteDrain,
  publicUrl,
  untilSignal,
} from '../program/server-process.ts';

const FLAGS = {
  agent: {
    type: 'string',
    value: 'AGENT',
    help: 'coder (the default), echo, bench, conformance, or a .ts or .js file that exports one.',
  },
  ...CODER_FLAGS,
  model: {
    ...CODER_FLAGS.model,
    help: `For the coder, and agents that name none: ${CODER_FLAGS.model.help}`,
  },
  port: { type: 'string', value: 'N', help: `${DEFAULT_PORT} by default; 0 picks a free one.` },
  host: { type: 'string', value: 'H', help: `${DEFAULT_HOST} by default; others need a token.` },
  token: { type: 'string', value: 'T', help: 'Callers must send this bearer token.' },
  keys: {
    type: 'string',
    value: 'FILE',
    help: 'A bearer token for each user: lines of NAME:TOKEN. Each sees only their own tasks.',
  },
  'public-url': { type: 'string', value: 'U', help: 'The address to put on the card.' },
  store: {
    type: 'string',
    value: 'S',
    help: 'memory, or sqlite:PATH; sessions are beside it. By default a file in the data folder.',
  },
  durability: {
    type: 'string',
    value: 'D',
    help: 'normal (the default) survives a crash of the process, full one of the machine.',
  },
  'require-extension': {
    type: 'boolean',
    help: "Refuse requests that do not name the agent's extensions.",
  },
  'only-version': {
    type: 'string',
    value: 'V',
    help: 'Speak only this version, 0.3 or 1.0. By default both, and the card is for clients of both.',
  },
  'allow-network': {
    type: 'string',
    multiple: true,
    value: 'CIDR',
    help: 'A private network that webhooks, and addresses that models and clients name, may be in: 10.0.0.0/8.',
  },
  'allow-client-mcp': {
    type: 'boolean',
    help: 'Clients of the coder may bring programs as MCP servers, and addresses in private networks.',
  },
  'allow-auto-execute': {
    type: 'boolean',
    help: 'Clients of the coder may switch questions off for their sessions.',
  },
  'max-task-bytes': {
    type: 'string',
    value: 'N',
    help: 'With --store memory: a task that outgrows this fails. 64 MB by default.',
  },
  json: { type: 'boolean', help: 'Print the ready line as JSON.' },
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  name: 'serve',
  operands: [],
  about: 'Serves an agent over A2A, both versions, JSON-RPC and REST, until it is interrupted.',
  flags: FLAGS,
  variables: {
    ...CODER_VARIABLES,
    PARLEY_SECRET_KEY: 'Encrypts the secrets of webhooks on disk; without it they are refused.',
    PARLEY_LOG_LEVEL: 'trace, debug, info, warn (the default), error or silent.',
  },
  examples: [
    'parley serve --workspace ~/project',
    'parley serve --agent echo',
    'parley serve --agent ./examples/weather/agent.ts --port 4000',
    'parley serve --agent ./agent.ts --model google:gemini-3.8-flash',
    'parley serve --host 0.0.0.0 --keys users.txt --public-url https://agent.example',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  const host = values.host ?? DEFAULT_HOST;
  const port = wholeNumber('--port', values.port ?? DEFAULT_PORT, { min: 0, max: 65_535 });
  const authenticate = authentication(settings);
  if (!isLoopback(host) && !authenticate) {
    throw usageError(
      `${host} can be reached by others, and there is no authentication: add --token T or --keys FILE, or leave --host out`,
    );
  }
  const limits = {
    ...(values['max-task-bytes'] !== undefined && {
      maxTaskBytes: wholeNumber('--max-task-bytes', values['max-task-bytes'], {
        min: 1,
        max: Number.MAX_SAFE_INTEGER,
      }),
    }),
  };
  const log = createLog(environment);
  const options: ServeOptions = {
    logger: log,
    limits,
    push: { allowNetworks: networks(values['allow-network']) },
    ...publicUrl(values['public-url']),
    ...onlyVersion(values['only-version']),
    ...(authenticate && { authenticate }),
  };
  const picked = await pickAgent(values.agent ?? 'coder', settings, log);
  const { agent, store } = picked;
  const server = serve(values['require-extension'] ? requiring(agent) : agent, {
    ...options,
    ...picked.options,
    store,
  });
  let listening: Listening;
  try {
    listening = await server.listen(port, host);
  } catch (error) {
    await server.close(0);
    await picked.close?.();
    throw explainListen(error, host, port, '--port');
  }
  const ended = untilSignal(log);
  announce({ listening, name: agent.profile.name, store, json: values.json });
  if (!values.json && process.stdout.isTTY) {
    note(`Try it: parley send ${listening.url} "list"    Stop it: Ctrl-C`);
  }
  picked.begin?.();
  log.info({ url: listening.url, agent: agent.profile.name, store: store.name }, 'ready');
  const code = await ended;
  noteDrain(server.handler.running, DRAIN_MS);
  await listening.close(DRAIN_MS);
  await picked.close?.();
  await log.flush();
  return code;
}

function onlyVersion(text: string | undefined): Pick<ServeOptions, 'versions'> {
  if (text === undefined) return {};
  const version = versionOf(text);
  if (!version) throw usageError(`--only-version ${text}: it is one of ${VERSIONS.join(' and ')}`);
  return { versions: [version] };
}

interface Picked {
  readonly agent: A2AAgent;
  readonly store: TaskStore;
  /** What serving it takes, besides what the flags say. */
  readonly options?: ServeOptions;
  /** Once requests are served. */
  begin?(): void;
  /** What the agent has open beside the store. */
  close?(): Promise<void>;
}

async function pickAgent(name: string, settings: Settings, log: ServerLog): Promise<Picked> {
  const { values, environment } = settings;
  const open = async (storeName: string) => {
    const place = await storeLocation(values, environment, storeName);
    return { place, store: await openStore(place, environment, log) };
  };
  switch (name) {
    case 'coder': {
      const { serveCoder } = await import('../coder/server.ts');
      return serveCoder(settings, log);
    }
    case 'echo': {
      const { echo } = await import('../agents/echo.ts');
      return { agent: echo, store: (await open(name)).store };
    }
    case 'bench': {
      const { bench } = await import('../agents/bench.ts');
      return { agent: bench, store: (await open(name)).store };
    }
    case 'conformance': {
      const { conformance } = await import('../agents/conformance.ts');
      return {
        agent: conformance,
        store: (await open(name)).store,
        options: { deduplicate: false },
      };
    }
    default: {
      const { isFrameworkAgent, loadAgentFile } = await import('../agents/agent-file.ts');
      const { agent, file, storeName } = await loadAgentFile(name);
      const { place, store } = await open(storeName);
      if (!isFrameworkAgent(agent)) return { agent, store };
      const { bridge } = await import('../agents/framework-agent.ts');
      try {
        const { model } = values;
        const bridged = await bridge(agent, { file, model, environment, place });
        return { ...bridged, store };
      } catch (error) {
        await store.close();
        throw error;
      }
    }
  }
}

/** What `--require-extension` names where an agent has no extension of its own: the contract's development-tool one. */
const DEVELOPMENT_TOOL =
  'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';

function requiring(agent: A2AAgent): A2AAgent {
  const own = agent.profile.extensions ?? [];
  const extensions = own.length > 0 ? own : [{ uri: DEVELOPMENT_TOOL }];
  const profile: AgentProfile = {
    ...agent.profile,
    extensions: extensions.map((extension) => Object.assign({}, extension, { required: true })),
  };
  // Inherited, so that an agent that is an instance of a class keeps its methods and their `this`.
  return Object.create(agent, { profile: { value: profile, enumerable: true } }) as A2AAgent;
}
