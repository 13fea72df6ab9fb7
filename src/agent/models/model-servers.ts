/**
 * Finds the server behind the prefix of a model name. It is a vendor (`google:NAME`), a model server on this machine
 * (`ollama:NAME`), or a provider of the settings (`PROVIDER:NAME`). Reads keys from environment variables, and base
 * URLs from the settings or from environment variables.
 */
import { defined } from '../../base/index.ts';
import { ModelError } from '../model.ts';
import { addressOf, VENDORS, type Vendor, type VendorEnvironment } from './vendors.ts';

/** A provider in the settings. */
export interface ModelProvider {
  /** The API of the server. Default: `openai-compatible`. */
  readonly type?: string | undefined;
  readonly baseUrl?: string | undefined;
  /**
   * The name of the environment variable that contains the key. Default: the server's own variables (LOCAL_SERVERS) for
   * `ollama`, `lmstudio` and `vllm`. No other provider gets a key by default.
   */
  readonly apiKeyVariable?: string | undefined;
  /** The size of the context window in tokens, for models that have no size in `models`. */
  readonly contextWindow?: number | undefined;
  readonly models?: Readonly<Record<string, { readonly contextWindow?: number | undefined }>>;
}
/** Providers by the prefix of their models: `{ router: { baseUrl: 'https://router.example/v1' } }`. */
export type ModelProviders = Readonly<Record<string, ModelProvider>>;

/** The prefixes of model servers on this machine, as in `ollama:NAME`. */
export type LocalServer = 'ollama' | 'lmstudio' | 'vllm';

interface LocalServerEntry {
  readonly title: string;
  /** The default address of the server. */
  readonly address: string;
  /** Variables with an address. The first one that is set is used. */
  readonly addressVariables: readonly [string, ...string[]];
  /** Variables with a key, for servers that require one. */
  readonly keys: readonly [string, ...string[]];
  /** The command that starts the server, for error messages. */
  readonly start: string;
}

export const LOCAL_SERVERS: Readonly<Record<LocalServer, LocalServerEntry>> = {
  ollama: {
    title: 'Ollama',
    address: 'http://127.0.0.1:11434/v1',
    addressVariables: ['OLLAMA_BASE_URL', 'OLLAMA_HOST'],
    keys: ['OLLAMA_API_KEY'],
    start: 'ollama serve',
  },
  lmstudio: {
    title: 'LM Studio',
    address: 'http://127.0.0.1:1234/v1',
    addressVariables: ['LMSTUDIO_BASE_URL'],
    keys: ['LMSTUDIO_API_KEY', 'LM_API_TOKEN'],
    start: 'lms server start',
  },
  vllm: {
    title: 'vLLM',
    address: 'http://127.0.0.1:8000/v1',
    addressVariables: ['VLLM_BASE_URL'],
    keys: ['VLLM_API_KEY'],
    start: 'vllm serve MODEL',
  },
};

/** The API of the local servers. */
const COMPATIBLE = VENDORS['openai-compatible']!;

export function isLocalServer(prefix: string): prefix is LocalServer {
  return Object.hasOwn(LOCAL_SERVERS, prefix);
}

/** The APIs that a provider in the settings may have. */
export const PROVIDER_TYPES = ['openai-compatible', 'openai', 'anthropic', 'google'] as const;

/** Prefixes with a fixed meaning, which a provider in the settings must not have. */
export const RESERVED_PREFIXES: ReadonlySet<string> = new Set([
  ...Object.keys(VENDORS),
  'offline',
  'scripted',
]);

/** A server of models. */
export interface ModelServer {
  /** The prefix in model names. */
  readonly prefix: string;
  /** The name of the API, a key of VENDORS. */
  readonly type: string;
  readonly vendor: Vendor;
  readonly baseURL: string;
  readonly apiKey?: string;
  /** The environment variable for the key. It contains the key, or the user must set it if the key is missing. */
  readonly keyVariable?: string;
  /** The provider in the settings, if there is one. */
  readonly entry?: ModelProvider;
  readonly local?: LocalServer;
  /** Returns the error for requests to the model with this name. Undefined if the server can be used. */
  readonly problem?: (model: string) => ModelError;
}

/** Returns the server of a prefix, or undefined if the prefix is unknown. */
export function serverOf(
  prefix: string,
  env: VendorEnvironment,
  providers: ModelProviders = {},
): ModelServer | undefined {
  const entry = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined;
  if (isLocalServer(prefix)) return localServer(prefix, env, entry);
  if (entry) return providerServer(prefix, env, entry);
  const vendor = Object.hasOwn(VENDORS, prefix) ? VENDORS[prefix] : undefined;
  return vendor && vendorServer(prefix, vendor, env);
}

/** Returns every known server: vendors first, then the providers of the settings, then the local servers. */
export function allServers(env: VendorEnvironment, providers: ModelProviders = {}): ModelServer[] {
  const local = Object.keys(LOCAL_SERVERS);
  const own = Object.keys(providers).filter((prefix) => !local.includes(prefix));
  return [...Object.keys(VENDORS), ...own, ...local].flatMap(
    (prefix) => serverOf(prefix, env, providers) ?? [],
  );
}

/**
 * Returns the names of the environment variables that contain keys of local servers and of providers in the settings.
 * The commands of an agent must not see these variables.
 */
export function keyVariablesOf(providers: ModelProviders = {}): string[] {
  const own = Object.values(providers).flatMap(({ apiKeyVariable }) => apiKeyVariable ?? []);
  return [...own, ...Object.values(LOCAL_SERVERS).flatMap(({ keys }) => keys)];
}

function vendorServer(prefix: string, vendor: Vendor, env: VendorEnvironment): ModelServer {
  const keyVariable = firstSet(env, vendor.keys) ?? vendor.keys[0];
  const apiKey = valueOf(env, keyVariable);
  const given = valueOf(env, vendor.addressVariable);
  const baseURL = addressOf(vendor, given);
  const lacksKey = apiKey === undefined && vendor.keyOptional !== true;
  const lacking = lacksKey ? keyVariable : vendor.addressVariable;
  const problem =
    lacksKey || baseURL === undefined
      ? (name: string) => missing(name, lacking)
      : invalidAddress(baseURL, vendor.addressVariable);
  return {
    prefix,
    type: prefix,
    vendor,
    baseURL: baseURL ?? '',
    keyVariable,
    ...defined({ apiKey, problem }),
  };
}

function providerServer(prefix: string, env: VendorEnvironment, entry: ModelProvider): ModelServer {
  const { type = 'openai-compatible', baseUrl, apiKeyVariable } = entry;
  const vendor = VENDORS[type]!;
  // The vendor's own variable contains a key for the vendor's own address. A provider gets this key only if its
  // settings name the variable.
  const apiKey = apiKeyVariable === undefined ? undefined : valueOf(env, apiKeyVariable);
  const lacksKey = apiKey === undefined && (apiKeyVariable !== undefined || !vendor.keyOptional);
  const lacking = apiKeyVariable ?? `providers.${prefix}.apiKeyVariable`;
  const problem = lacksKey ? (name: string) => missing(name, lacking) : undefined;
  return {
    prefix,
    type,
    vendor,
    baseURL: addressOf(vendor, baseUrl) ?? '',
    entry,
    ...defined({ apiKey, keyVariable: apiKeyVariable, problem }),
  };
}

function localServer(
  prefix: LocalServer,
  env: VendorEnvironment,
  entry: ModelProvider | undefined,
): ModelServer {
  const { address, addressVariables, keys } = LOCAL_SERVERS[prefix];
  const variable = firstSet(env, addressVariables);
  const given = variable === undefined ? undefined : hostAddress(valueOf(env, variable)!, address);
  const baseURL = addressOf(COMPATIBLE, entry?.baseUrl ?? given ?? address);
  const keyVariable = entry?.apiKeyVariable ?? firstSet(env, keys);
  const apiKey = keyVariable === undefined ? undefined : valueOf(env, keyVariable);
  const problem = variable === undefined ? undefined : invalidAddress(baseURL, variable);
  return {
    prefix,
    type: 'openai-compatible',
    vendor: COMPATIBLE,
    baseURL,
    local: prefix,
    ...defined({ apiKey, keyVariable, entry, problem }),
  };
}

/**
 * Reads an address as Ollama does: `http://host:port`, `host:port`, `host` or `:port`. An address that stands for all
 * interfaces, such as `0.0.0.0`, becomes the loopback address.
 */
function hostAddress(given: string, standard: string): string {
  const { port } = new URL(standard);
  const hasScheme = /^[a-z]+:\/\//i.test(given);
  const host = given.startsWith(':') ? `127.0.0.1${given}` : given;
  const url = URL.parse(hasScheme ? given : `http://${host}`);
  if (!url) return given;
  // `url.port` is empty for port 80 too, so the port is looked for in the text before the path.
  const hasPort = /^[^/\\?#]*:\d+(?:[/\\?#]|$)/.test(host);
  if (!hasScheme && !hasPort) url.port = port;
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.href;
}

/**
 * Returns the problem of an invalid address. An address with credentials is invalid, because `fetch` refuses it with an
 * error that contains the credentials.
 */
function invalidAddress(baseURL: string, variable: string): ModelServer['problem'] | undefined {
  const { protocol = '', username, password } = URL.parse(baseURL) ?? {};
  if (/^https?:$/.test(protocol) && username === '' && password === '') return undefined;
  const message = `${variable} is not a valid address: set it to an address such as https://example.com/v1`;
  return () => new ModelError('invalid-request', message);
}

function missing(name: string, variable: string): ModelError {
  const where = variable.startsWith('providers.') ? 'settings.json' : 'the environment';
  return new ModelError(
    'no-key',
    `${name} needs ${variable}: set it in ${where}, or use another model`,
  );
}

function firstSet(env: VendorEnvironment, variables: readonly string[]): string | undefined {
  return variables.find((variable) => valueOf(env, variable) !== undefined);
}

/** Returns the value of an environment variable. An empty variable counts as not set. */
export function valueOf(env: VendorEnvironment, variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value === '' ? undefined : value;
}
