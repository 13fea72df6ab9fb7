/**
 * Resolves a model name to providers. Looks up the name in this order: the workspace's model cards, the models in the
 * configuration, the names that providers list. An unknown name is an error. There is no fallback to another model.
 */
import { allOf, andThen, type MaybePromise, nearestNames } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { CardLookup } from '../cards/cards.ts';
import type { CardContent, ModelCard, modelLimits, Pricing } from '../cards/schema.ts';
import { OperatorPrices } from './prices.ts';
import type { ModelsConfig } from './config.ts';
import { limitsOf, NO_LIMITS, type ModelLimits } from './limits.ts';
import { calledName } from './model-name.ts';
import type { ApiType, Provider } from './provider.ts';

/** A provider of a model, with the provider's own name for this model. */
export interface Candidate {
  readonly provider: Provider;
  /** The provider's name for the model. */
  readonly model: string;
  readonly weight: number;
}

/** A resolved model name. */
export interface ModelTarget {
  /** The name that was resolved: the name in the request, or the default model. */
  readonly name: string;
  readonly apiType: ApiType;
  readonly pricing: Pricing | undefined;
  readonly limits: ModelLimits;
  /** The providers that can serve the model. There is at least one. */
  readonly candidates: readonly Candidate[];
}

export interface ListedModel {
  readonly name: string;
  /** The creation time of the model card in milliseconds since 1970, or undefined for models without a card. */
  readonly createdAt?: number;
  readonly owner: string;
  readonly limits?: Pick<ModelLimits, 'contextWindow' | 'maxOutputTokens'>;
}

export interface Catalogue {
  /**
   * Finds the providers of a model. The result is a promise only if model cards must be read from PostgreSQL. Throws
   * `invalidParams` if the name is unknown, or if the model has no usable provider or does not support the API type.
   */
  resolve(workspace: string, name: string, apiType: ApiType): MaybePromise<ModelTarget>;
  /**
   * Returns the first MAX_LISTED models, in this order: the workspace's model cards, the models in the configuration,
   * the names that providers list.
   */
  list(workspace: string): Promise<readonly ListedModel[]>;
  /** Returns the model with this name. Throws `notFound` if the workspace has no such model. */
  find(workspace: string, name: string): Promise<ListedModel>;
}

/** The common part of a model card and a model in the configuration. */
type ModelEntry = Pick<
  CardContent,
  keyof typeof modelLimits | 'provider' | 'model' | 'routes' | 'capabilities' | 'pricing'
>;

/** The `reason` of an error about an unknown model name. */
export const MODEL_NOT_FOUND = 'MODEL_NOT_FOUND';

const MAX_LISTED = 1000;
const MAX_NEAREST = 5;
/** To find similar names, only the first MAX_COMPARED_CHARS characters of names are compared. */
const MAX_COMPARED_CHARS = 48;
const MAX_SHOWN_CHARS = 80;
const OWNER = 'gateway';

/**
 * Creates the catalogue. Throws if a model in the configuration has an unknown provider, or a name that the provider
 * does not allow.
 */
export function createCatalogue(
  cards: CardLookup,
  models: ModelsConfig,
  providers: ReadonlyMap<string, Provider>,
): Catalogue {
  const own = new Map(Object.entries(models));
  const prices = new OperatorPrices();
  for (const [name, entry] of own) {
    const refuse = (why: string) => new A2AError('invalidParams', `models.${name}: ${why}`);
    for (const { provider: at, model = entry.model ?? name } of routesOf(entry) ?? []) {
      const provider = providers.get(at);
      if (!provider) throw refuse(`the provider ${at} is not configured`);
      const candidate = candidateOf(provider, model);
      if (!candidate) throw refuse(wrongName(at, model));
      if (entry.pricing) prices.add(candidate, entry.pricing);
    }
  }

  function resolveWith(
    card: CardContent | undefined,
    workspace: string,
    name: string,
    apiType: ApiType,
  ): MaybePromise<ModelTarget> {
    const entry = card ?? own.get(name);
    if (entry === undefined) {
      const candidates = servers(name, apiType);
      if (candidates.length === 0) {
        return andThen(cards.slugs(workspace, MAX_LISTED), (slugs) => {
          throw unknown(slugs, name, apiType);
        });
      }
      // The configuration may contain this model of the provider under another name, with a price. Then this price
      // applies.
      const pricing = prices.of(candidates, undefined);
      return { name, apiType, pricing, limits: NO_LIMITS, candidates };
    }
    if (entry.capabilities.some(({ type, enabled }) => type === apiType && !enabled)) {
      throw wrongType(name, apiType);
    }
    const candidates = follow(name, entry, card?.name ?? name, apiType);
    const pricing = card ? prices.of(candidates, card.pricing) : entry.pricing;
    return { name, apiType, pricing, limits: limitsOf(entry), candidates };
  }

  /** Returns all providers that list the name for the API type. */
  function servers(name: string, apiType: ApiType): Candidate[] {
    return [...providers.values()]
      .filter(({ serves }) => serves[apiType].includes(name))
      .flatMap((provider) => candidateOf(provider, name) ?? []);
  }

  /**
   * Returns the candidates of an entry. `otherwise` is the provider's name for the model if neither the route nor the
   * entry contains this name.
   */
  function follow(
    name: string,
    entry: ModelEntry,
    otherwise: string,
    apiType: ApiType,
  ): Candidate[] {
    const { model: usual = otherwise } = entry;
    const routes = routesOf(entry);
    if (!routes) {
      const candidates = servers(usual, apiType);
      if (candidates.length > 0) return candidates;
      throw unusable(name, `no configured provider lists ${usual} for ${apiType}`);
    }
    const known = routes.flatMap(({ provider: at, model = usual, weight }) => {
      const provider = providers.get(at);
      if (provider === undefined) return [];
      const candidate = candidateOf(provider, model, weight);
      if (candidate === undefined) throw unusable(name, wrongName(at, model));
      return [candidate];
    });
    if (known.length === 0) {
      const names = routes.map(({ provider }) => provider).join(', ');
      throw unusable(name, `${names} ${routes.length === 1 ? 'is' : 'are'} not configured`);
    }
    const able = known.filter(({ provider }) => provider.can[apiType]);
    if (able.length > 0) return able;
    throw wrongType(name, apiType);
  }

  function unknown(slugs: readonly string[], name: string, apiType: ApiType): A2AError {
    const shown = JSON.stringify(name.slice(0, MAX_SHOWN_CHARS));
    const other = apiType === 'chat' ? 'embeddings' : 'chat';
    if (servers(name, other).length > 0) {
      const message = `The model ${shown} supports ${other}, not ${apiType}`;
      return new A2AError('invalidParams', message);
    }
    const names = new Set([
      ...slugs,
      ...own.keys(),
      ...[...providers.values()].flatMap(({ serves }) => serves[apiType]),
    ]);
    const nearest = nearestNames(name, names, {
      compared: (text) => text.slice(0, MAX_COMPARED_CHARS).toLowerCase(),
      maxDistance: () => Infinity,
    });
    const near = nearest.slice(0, MAX_NEAREST).join(', ');
    const message = `Unknown model ${shown}. Similar names: ${near}`;
    return new A2AError('invalidParams', message, { reason: MODEL_NOT_FOUND });
  }

  function* listed(found: readonly (ModelCard | undefined)[]): Generator<ListedModel> {
    for (const model of found) {
      if (model === undefined) continue;
      const { slug: name, createdAt, workspaceId: owner, card: limits } = model;
      yield { name, createdAt: Date.parse(createdAt), owner, limits };
    }
    for (const [name, limits] of own) yield { name, owner: OWNER, limits };
    for (const { name: owner, serves } of providers.values()) {
      for (const name of [...serves.chat, ...serves.embeddings]) yield { name, owner };
    }
  }

  return {
    resolve: (workspace, name, apiType) =>
      andThen(cards.bySlug(workspace, name), (found) =>
        resolveWith(found?.card, workspace, name, apiType),
      ),
    async list(workspace) {
      const slugs = await cards.slugs(workspace, MAX_LISTED);
      const found = await allOf(slugs.map((slug) => cards.bySlug(workspace, slug)));
      const byName = new Map<string, ListedModel>();
      for (const model of listed(found)) {
        if (byName.size >= MAX_LISTED) break;
        if (!byName.has(model.name)) byName.set(model.name, model);
      }
      return [...byName.values()];
    },
    async find(workspace, name) {
      const card = await cards.bySlug(workspace, name);
      for (const model of listed([card])) if (model.name === name) return model;
      throw new A2AError('notFound', 'Unknown model', { reason: MODEL_NOT_FOUND });
    },
  };
}

/** Returns the candidate, or undefined if the provider cannot have a model with this name. */
function candidateOf(provider: Provider, given: string, weight = 1): Candidate | undefined {
  const model = calledName(provider.config.type, given);
  return model === undefined ? undefined : { provider, model, weight };
}

const unusable = (name: string, why: string) =>
  new A2AError('invalidParams', `The model card ${name} has no usable provider: ${why}`);
const wrongName = (provider: string, model: string) =>
  `the provider ${provider} cannot have a model with the name ${JSON.stringify(model)}`;
const wrongType = (name: string, apiType: ApiType) =>
  new A2AError('invalidParams', `The model ${name} does not support ${apiType}`);

function routesOf({ provider, routes }: ModelEntry): ModelEntry['routes'] {
  return routes ?? (provider === undefined ? undefined : [{ provider, weight: 1 }]);
}
