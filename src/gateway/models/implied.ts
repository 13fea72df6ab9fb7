/** Adds providers that need no configuration to the configured providers. */
import { ModelError, type VendorEnvironment } from '../../agent/index.ts';
import { VENDORS, addressOf, type Vendor } from '../../agent/internal/index.ts';
import { ProviderConfig, type ProvidersConfig } from './config.ts';

/** The name of the offline provider, and of its model. */
export const OFFLINE = 'offline';

/**
 * Returns the configured providers by name. Adds `offline`. Also adds each vendor whose environment variables are set,
 * unless a configured provider uses this vendor. Throws a ModelError if an environment variable has an invalid address.
 */
export function withImplied(
  config: ProvidersConfig,
  env: VendorEnvironment,
): ReadonlyMap<string, ProviderConfig> {
  const all = new Map(Object.entries(config));
  const types = new Set<string>([...all.values()].map(({ type }) => type));
  for (const [name, vendor] of Object.entries(VENDORS)) {
    const implied = all.has(name) || types.has(name) ? undefined : fromEnv(name, vendor, env);
    if (implied !== undefined) all.set(name, implied);
  }
  if (!all.has(OFFLINE)) {
    const names = { models: [OFFLINE], embeddingModels: [OFFLINE] };
    all.set(OFFLINE, ProviderConfig.parse({ type: 'offline', ...names }));
  }
  return all;
}

/**
 * Returns the default model if the configuration does not contain one. This is the first model of the only configured
 * provider that is not `offline` or `scripted`. Returns undefined if there is no such provider, or more than one.
 */
export function impliedDefaultModel(config: ProvidersConfig = {}): string | undefined {
  const real = Object.values(config).filter(({ type }) => type !== OFFLINE && type !== 'scripted');
  const [only, ...others] = real;
  return others.length === 0 ? only?.models?.[0] : undefined;
}

/** Returns the vendor's API key in the environment, or undefined if it is not set. */
export function keyIn(env: VendorEnvironment, { keys }: Vendor): string | undefined {
  return keys.map((key) => valueOf(env, key)).find((value) => value !== undefined);
}

function fromEnv(name: string, vendor: Vendor, env: VendorEnvironment): ProviderConfig | undefined {
  const apiKey = keyIn(env, vendor);
  const baseUrl = addressOf(vendor, valueOf(env, vendor.addressVariable));
  if (baseUrl === undefined || (apiKey === undefined && vendor.keyOptional !== true)) {
    return undefined;
  }
  const models = vendor.defaultModel === undefined ? [] : [vendor.defaultModel];
  const read = ProviderConfig.safeParse({ type: name, baseUrl, models, ...(apiKey && { apiKey }) });
  if (read.success) return read.data;
  const why = `${vendor.addressVariable} is not a valid address: set it to an address such as https://example.com/v1`;
  throw new ModelError('invalid-request', why);
}

/** Returns the value of a variable, or undefined if it is not set or empty. */
function valueOf(env: VendorEnvironment, variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value === '' ? undefined : value;
}
