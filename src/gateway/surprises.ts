/** Finds valid settings that probably do not do what the operator expects, for `parley gateway --check`. */
import type { VendorEnvironment } from '../agent/index.ts';
import type { ModelSettings, ModelsConfig, ProviderConfig } from './models/config.ts';
import { impliedDefaultModel, withImplied } from './models/implied.ts';
import { calledName, comparedName } from './models/model-name.ts';

/** Maximum number of names in a message. */
const MAX_NAMES = 10;

/** The parts of the gateway's configuration that are checked here. */
export interface CheckedSettings extends ModelSettings {
  readonly budgets?: object | undefined;
  readonly keys?: { readonly oidc?: object | undefined } | undefined;
  /**
   * False if a provider or a model is invalid. In this case, `models` does not contain the invalid model, and an
   * offline provider replaces the invalid provider in `providers`.
   */
  readonly isWhole: boolean;
}

/** The models that a provider lists. */
type ListedModels = Partial<Pick<ProviderConfig, 'models' | 'embeddingModels'>>;

export interface Surprise {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

/** Returns the settings that probably do not do what the operator expects. */
export function surprisesIn(config: CheckedSettings, environment: VendorEnvironment): Surprise[] {
  return [
    // If a provider or a model is invalid, it may define the default model. So the default model is not checked.
    ...(config.isWhole ? aboutDefaultModel(config, environment) : []),
    ...aboutModels(config, environment),
    ...aboutBudgets(config),
    ...aboutKeys(config),
  ];
}

function* aboutDefaultModel(
  { providers = {}, models = {}, defaultModel }: CheckedSettings,
  environment: VendorEnvironment,
): Generator<Surprise> {
  if (defaultModel !== undefined) {
    const all = [...withImplied(providers, environment).values()];
    const served = all.flatMap((provider) => provider.models ?? []);
    if (Object.hasOwn(models, defaultModel) || served.includes(defaultModel)) return;
    yield {
      path: ['defaultModel'],
      text: `"${defaultModel}" is not a configured model: each workspace needs a model card with that slug`,
    };
    return;
  }
  if (Object.keys(providers).length === 0) return;
  const implied = impliedDefaultModel(providers);
  const text =
    implied === undefined
      ? 'there is no defaultModel, so tasks that name no model use the offline model: set defaultModel'
      : `there is no defaultModel, so tasks that name no model use "${implied}": set defaultModel to choose another one`;
  yield { path: ['providers'], text };
}

/**
 * Finds models that their provider does not list, routes whose weights are all 0, repeated routes, and providers that
 * only model cards can use.
 */
function* aboutModels(
  { providers = {}, models = {} }: CheckedSettings,
  environment: VendorEnvironment,
): Generator<Surprise> {
  const all = withImplied(providers, environment);
  const called = (provider: string, model: string) =>
    calledName(all.get(provider)?.type ?? '', model);
  /**
   * Returns the model names that the provider lists. Returns undefined if the provider may serve every name: if it
   * lists no names, or if it has the type `offline`.
   */
  const listed = (name: string) => {
    const names = modelsOf(all.get(name) ?? {}).map((model) => called(name, model));
    return names.length === 0 || all.get(name)?.type === 'offline' ? undefined : names;
  };
  const used = new Set<string>();
  for (const [name, model] of Object.entries(models)) {
    const { routes = [] } = model;
    const places = routesOf(name, model);
    for (const place of places) {
      used.add(place.provider);
      const names = listed(place.provider);
      if (names === undefined || names.includes(called(place.provider, place.model))) continue;
      const text = `the provider ${place.provider} does not list the model "${place.model}"`;
      yield { path: place.path, text };
    }
    if (routes.length > 1 && routes.every(({ weight }) => weight === 0)) {
      const text = 'all weights are 0, so the first route is always tried first';
      yield { path: ['models', name, 'routes'], text };
    }
    const keys = places.map(({ provider: at, model: named }) =>
      JSON.stringify([at, called(at, named)]),
    );
    for (const [at, { path }] of places.entries()) {
      if (keys.indexOf(keys[at]!) === at) continue;
      yield { path, text: 'repeats an earlier route, so it is tried twice' };
    }
  }
  for (const [name, provider] of Object.entries(providers)) {
    if (used.has(name) || provider.type === 'offline' || modelsOf(provider).length > 0) continue;
    const text = 'lists no models, and no model uses it, so only model cards can reach it';
    yield { path: ['providers', name], text };
  }
}

/** Finds models without a price. Callers with a budget in money cannot use such models. */
function* aboutBudgets({ budgets = {}, providers = {}, models = {}, isWhole }: CheckedSettings) {
  if (!hasAmount(budgets)) return;
  const keyOf = (provider: string, model: string) =>
    JSON.stringify([provider, comparedName(providers[provider]?.type ?? '', model)]);
  const priced = pricedModels(models, keyOf);
  for (const [name, { pricing }] of Object.entries(models)) {
    if (pricing !== undefined) continue;
    const path = ['models', name];
    yield { path, text: 'has no pricing, so callers with a budget in money cannot use it' };
  }
  // Invalid models are not in `models`, but they may set prices. So the models that providers list are not checked.
  if (!isWhole) return;
  for (const [name, provider] of Object.entries(providers)) {
    if (provider.type === 'offline' || provider.type === 'scripted') continue;
    const isPriced = (model: string) =>
      Object.hasOwn(models, model) || priced.has(keyOf(name, model));
    const without = modelsOf(provider).filter((model) => !isPriced(model));
    if (without.length === 0) continue;
    const names =
      without.slice(0, MAX_NAMES).join(', ') + (without.length > MAX_NAMES ? ', …' : '');
    const text = `has models without a price (${names}), so callers with a budget in money cannot use them: for each of them, add an entry with "pricing" to the section "models"`;
    yield { path: ['providers', name], text };
  }
}

/**
 * Returns the providers that serve a model, their names for the model, and the paths of these settings. A model has
 * either a provider or routes.
 */
export function routesOf(
  name: string,
  { provider, model = name, routes = [] }: ModelsConfig[string],
): { readonly provider: string; readonly model: string; readonly path: readonly PropertyKey[] }[] {
  if (provider !== undefined) return [{ provider, model, path: ['models', name] }];
  return routes.map((route, at) => ({
    provider: route.provider,
    model: route.model ?? model,
    path: ['models', name, 'routes', at],
  }));
}

function modelsOf({ models = [], embeddingModels = [] }: ListedModels): string[] {
  return [...models, ...embeddingModels];
}

/** Returns the models that have a price, each as the text that `keyOf` returns. */
function pricedModels(
  models: ModelsConfig,
  keyOf: (provider: string, model: string) => string,
): Set<string> {
  return new Set(
    Object.entries(models).flatMap(([name, settings]) => {
      if (settings.pricing === undefined) return [];
      return routesOf(name, settings).map(({ provider, model }) => keyOf(provider, model));
    }),
  );
}

/** Returns whether a budget in any part of the section has an amount. */
function hasAmount(section: object): boolean {
  return Object.entries(section).some(
    ([name, value]) =>
      (name === 'amount' && value !== undefined) ||
      (typeof value === 'object' && value !== null && hasAmount(value)),
  );
}

function* aboutKeys({ keys }: CheckedSettings): Generator<Surprise> {
  if (keys?.oidc === undefined) return;
  yield {
    path: ['keys', 'oidc'],
    text: "with an issuer, the gateway creates no first key: if you need one, run parley keys create --name first --scope '*'",
  };
}
