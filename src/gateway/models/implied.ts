/** The providers that need no configuration: the offline provider, and vendors whose environment variables are set. */
import type { VendorEnvironment } from '../../agent/index.ts';
import { VENDORS, serverOf } from '../../agent/internal/index.ts';
import { ProviderConfig, type ProvidersConfig } from './config.ts';

/** The name of the offline provider, and of its model. */
export const OFFLINE = 'offline';

/**
 * Returns the configured providers by name. Adds `offline` if it is not configured. Also adds a provider for each
 * vendor whose environment variables are set. No provider is added for a vendor if a configured provider has the
 * vendor's name as its name or its type. Throws a ModelError if an environment variable has an invalid address.
 */
export function withImplied(
  config: ProvidersConfig,
  env: VendorEnvironment,
): ReadonlyMap<string, ProviderConfig> {
  const all = new Map(Object.entries(config));
  const types = new Set<string>([...all.values()].map(({ type }) => type));
  for (const name of Object.keys(VENDORS)) {
    const implied = all.has(name) || types.has(name) ? undefined : fromEnv(name, env);
    if (implied !== undefined) all.set(name, implied);
  }
  if (!all.has(OFFLINE)) {
    const names = { models: [OFFLINE], embeddingModels: [OFFLINE] };
    all.set(OFFLINE, ProviderConfig.parse({ type: 'offline', ...names }));
  }
  return all;
}

/**
 * Returns the default model for a configuration without `defaultModel`: the first model of the only configured provider
 * that is not `offline` or `scripted`. Returns undefined if there is no such provider, if there are several such
 * providers, or if the only one lists no models.
 */
export function impliedDefaultModel(config: ProvidersConfig = {}): string | undefined {
  const real = Object.values(config).filter(({ type }) => type !== OFFLINE && type !== 'scripted');
  const [only, ...others] = real;
  return others.length === 0 ? only?.models?.[0] : undefined;
}

function fromEnv(name: string, env: VendorEnvironment): ProviderConfig | undefined {
  const server = serverOf(name, env);
  const problem = server?.problem?.(name);
  if (!server || problem?.code === 'no-key') return undefined;
  if (problem) throw problem;
  const { type, vendor, baseURL: baseUrl, apiKey } = server;
  const models = vendor.defaultModel === undefined ? [] : [vendor.defaultModel];
  return ProviderConfig.parse({ type, baseUrl, apiKey, models });
}
