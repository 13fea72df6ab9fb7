/**
 * Creates models by name: `google:NAME`, `anthropic:NAME`, `openai:NAME`, `openai-compatible:NAME`, `ollama:NAME`,
 * `lmstudio:NAME`, `vllm:NAME`, `offline`, `scripted:FILE`, and `PROVIDER:NAME` for providers of the settings. Keys are
 * read from environment variables. Base URLs are read from the settings or from environment variables.
 */
import { defined, nearestNames } from '../../base/index.ts';
import { ModelError, type Model } from '../model.ts';
import { offlineModel } from './offline.ts';
import { withRetry, type ModelRetryOptions } from './retry.ts';
import { scriptFromFile } from './scripted.ts';
import { vendorModel } from './vendor-model.ts';
import {
  serverOf,
  LOCAL_SERVERS,
  valueOf,
  type ModelServer,
  type ModelProvider,
  type ModelProviders,
} from './model-servers.ts';
import { VENDORS, type VendorEnvironment } from './vendors.ts';

/** The options of `model`. */
export interface ResolveOptions {
  /** Environment variables. Default: `process.env`. */
  readonly env?: VendorEnvironment;
  /** Providers by the prefix of their models, in addition to the vendors. */
  readonly providers?: ModelProviders;
  /** Whether a missing key or base URL is reported at once instead of at the first request. */
  readonly checkKey?: boolean;
  readonly retry?: ModelRetryOptions;
  /** Maximum time between two events of the vendor. Default: 5 minutes. */
  readonly idleTimeoutMs?: number;
  /** Maximum time for a whole answer. Default: 30 minutes. */
  readonly timeoutMs?: number;
  /** Called when the vendor refused a file, and the request was repeated without files. Must not throw. */
  readonly onFilesRefused?: (model: string) => void;
  /** Called when the server has reported the size of the context window. Must not throw. */
  readonly onContextWindow?: (model: string, tokens: number) => void;
}

function formsOf(providers: ModelProviders = {}): string[] {
  const prefixes = [
    ...Object.keys(VENDORS),
    ...Object.keys(LOCAL_SERVERS),
    ...Object.keys(providers),
  ];
  const forms = [...new Set(prefixes)].map((prefix) => `${prefix}:NAME`);
  return [...forms, 'offline', 'scripted:FILE'];
}

/** Maximum length of an unknown model name in an error message. */
const MAX_NAME_CHARS = 80;

/** Returns the model with this name. If a Model is given, returns it unchanged. */
export function resolveModel(nameOrModel: string | Model, options: ResolveOptions = {}): Model {
  if (typeof nameOrModel !== 'string') return nameOrModel;
  const name = nameOrModel.trim();
  if (name === 'offline') return offlineModel();
  const colon = name.indexOf(':');
  const prefix = colon < 0 ? name : name.slice(0, colon);
  const rest = colon < 0 ? '' : name.slice(colon + 1);
  if (prefix === 'scripted' && rest !== '') {
    return withRetry(scriptFromFile(rest), options.retry);
  }
  const { env = process.env, providers } = options;
  const server = rest === '' ? undefined : serverOf(prefix, env, providers);
  if (server === undefined) throw unknownModel(name, providers);
  return fromServer(server, rest, options);
}

/**
 * Returns the value of `PARLEY_MODEL`. If it is not set, returns the default model of the first vendor whose key is
 * set. If there is no such vendor, returns `offline`.
 */
export function defaultModelName(env: VendorEnvironment = process.env): string {
  const named = valueOf(env, 'PARLEY_MODEL');
  if (named !== undefined) return named;
  return usableModels(env)[0] ?? 'offline';
}

/**
 * Returns the models that need no further setup. These are the default model of each vendor whose key is set, the
 * models of usable providers in the settings, and `offline`.
 */
export function usableModels(
  env: VendorEnvironment = process.env,
  providers: ModelProviders = {},
): string[] {
  const usable = Object.entries(VENDORS).flatMap(([prefix, { keys, defaultModel }]) =>
    defaultModel !== undefined && keys.some((key) => valueOf(env, key) !== undefined)
      ? [`${prefix}:${defaultModel}`]
      : [],
  );
  const own = Object.entries(providers).flatMap(([prefix, { models = {} }]) =>
    serverOf(prefix, env, providers)?.problem === undefined
      ? Object.keys(models).map((id) => `${prefix}:${id}`)
      : [],
  );
  return [...usable, ...own, 'offline'];
}

function fromServer(server: ModelServer, id: string, options: ResolveOptions): Model {
  const { env: _, providers: __, checkKey, ...rest } = options;
  const { prefix, type, baseURL, apiKey, keyVariable, entry, local } = server;
  const name = `${prefix}:${id}`;
  const problem = server.problem?.(name);
  if (problem !== undefined && checkKey === true) throw problem;
  const contextWindow = windowIn(entry, id);
  const settings = { baseURL, ...defined({ apiKey }) };
  const known = defined({ keyVariable, contextWindow, local });
  return vendorModel(type, id, settings, { ...rest, name, ...known, problem, thoughts: true });
}

/** Returns the size of the context window in the settings. */
function windowIn(entry: ModelProvider | undefined, id: string): number | undefined {
  const models = entry?.models ?? {};
  const own = Object.hasOwn(models, id) ? models[id]?.contextWindow : undefined;
  return own ?? entry?.contextWindow;
}

function unknownModel(given: string, providers: ModelProviders | undefined): ModelError {
  const name = given.slice(0, MAX_NAME_CHARS);
  const forms = formsOf(providers);
  const near = nearest(name, forms);
  const hint = near === undefined ? '' : `did you mean ${near}? `;
  return new ModelError(
    'invalid-request',
    `unknown model ${JSON.stringify(name)}: ${hint}Use one of ${forms.join(', ')}`,
  );
}

/** Returns the name that was probably meant if the vendor's prefix is missing or misspelled. */
function nearest(name: string, forms: readonly string[]): string | undefined {
  for (const [prefix, { family }] of Object.entries(VENDORS)) {
    const bare = name.slice(name.search(/[:/]/) + 1);
    if (family?.test(bare)) return `${prefix}:${bare}`;
  }
  const [prefix = ''] = name.toLowerCase().split(':');
  const [best] = nearestNames(prefix, forms, {
    compared: (form) => form.replace(/:.*/, ''),
    maxDistance: (form) => Math.max(2, form.length / 4),
  });
  return best;
}
