/**
 * Creates models by name: `google:NAME`, `anthropic:NAME`, `openai:NAME`, `openai-compatible:NAME`, `offline`,
 * `scripted:FILE`. Keys and base URLs are read from environment variables.
 */
import { nearestNames } from '../../base/index.ts';
import { ModelError, type Model } from '../model.ts';
import { offlineModel } from './offline.ts';
import { withRetry, type ModelRetryOptions } from './retry.ts';
import { scriptFromFile } from './scripted.ts';
import { vendorModel } from './vendor-model.ts';
import { addressOf, VENDORS, type VendorEnvironment, type Vendor } from './vendors.ts';

/** The options of `model`. */
export interface ResolveOptions {
  /** Environment variables. Default: `process.env`. */
  readonly env?: VendorEnvironment;
  /** Whether a missing key or base URL is reported at once instead of at the first request. */
  readonly checkKey?: boolean;
  readonly retry?: ModelRetryOptions;
  /** Maximum time between two events of the vendor. */
  readonly idleTimeoutMs?: number;
  /** Maximum time for a whole answer. */
  readonly timeoutMs?: number;
}

const FORMS = [
  ...Object.keys(VENDORS).map((vendor) => `${vendor}:NAME`),
  'offline',
  'scripted:FILE',
];

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
  const vendor = Object.hasOwn(VENDORS, prefix) ? VENDORS[prefix] : undefined;
  if (vendor === undefined || rest === '') throw unknownModel(name);
  return fromEnvironment(vendor, prefix, rest, options);
}

/** Returns the value of `PARLEY_MODEL`, or the default model of the first vendor whose key is set, or `offline`. */
export function defaultModelName(env: VendorEnvironment = process.env): string {
  const named = valueOf(env, 'PARLEY_MODEL');
  if (named !== undefined) return named;
  return usableModels(env)[0] ?? 'offline';
}

/** Returns the models that need no further setup: the default model of each vendor whose key is set, and `offline`. */
export function usableModels(env: VendorEnvironment = process.env): string[] {
  const usable = Object.entries(VENDORS).flatMap(([prefix, { keys, defaultModel }]) =>
    defaultModel !== undefined && keys.some((key) => valueOf(env, key) !== undefined)
      ? [`${prefix}:${defaultModel}`]
      : [],
  );
  return [...usable, 'offline'];
}

function fromEnvironment(
  vendor: Vendor,
  prefix: string,
  id: string,
  options: ResolveOptions,
): Model {
  const { env = process.env, checkKey, ...rest } = options;
  const name = `${prefix}:${id}`;
  const keyVariable = vendor.keys.find((key) => valueOf(env, key) !== undefined) ?? vendor.keys[0];
  const apiKey = valueOf(env, keyVariable);
  const baseURL = addressOf(vendor, valueOf(env, vendor.addressVariable));
  let problem: ModelError | undefined;
  if (apiKey === undefined && vendor.keyOptional !== true) problem = missing(name, keyVariable);
  else if (baseURL === undefined) problem = missing(name, vendor.addressVariable);
  else if (!/^https?:/.test(baseURL) || !URL.canParse(baseURL)) {
    const message = `${vendor.addressVariable} is not a valid address: set it to an address such as https://example.com/v1`;
    problem = new ModelError('invalid-request', message);
  }
  if (problem !== undefined && checkKey === true) throw problem;
  const settings = { baseURL: baseURL ?? '', ...(apiKey !== undefined && { apiKey }) };
  return vendorModel(prefix, id, settings, { ...rest, name, keyVariable, problem, thoughts: true });
}

function missing(name: string, variable: string): ModelError {
  return new ModelError(
    'no-key',
    `${name} needs ${variable}: set it in the environment, or use offline`,
  );
}

/** Returns the value of an environment variable. An empty variable counts as not set. */
function valueOf(env: VendorEnvironment, variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value === '' ? undefined : value;
}

function unknownModel(given: string): ModelError {
  const name = given.slice(0, MAX_NAME_CHARS);
  const near = nearest(name);
  const hint = near === undefined ? '' : `did you mean ${near}? `;
  return new ModelError(
    'invalid-request',
    `unknown model ${JSON.stringify(name)}: ${hint}Use one of ${FORMS.join(', ')}`,
  );
}

/** Returns the name that was probably meant if the vendor's prefix is missing or misspelled. */
function nearest(name: string): string | undefined {
  for (const [prefix, { family }] of Object.entries(VENDORS)) {
    const bare = name.slice(name.search(/[:/]/) + 1);
    if (family?.test(bare)) return `${prefix}:${bare}`;
  }
  const [prefix = ''] = name.toLowerCase().split(':');
  const [best] = nearestNames(prefix, FORMS, {
    compared: (form) => form.replace(/:.*/, ''),
    maxDistance: (form) => Math.max(2, form.length / 4),
  });
  return best;
}
