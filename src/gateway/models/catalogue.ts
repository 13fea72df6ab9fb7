/**
 * Which model a name means, and where it is served. The workspace's card goes first, then the operator's models, then
 * the names that providers list. A name that is none of these is refused: nobody is given another model than he asked
 * for.
 */
import { distance } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Pricing } from '../cards/schema.ts';
import type { CardLookup } from '../cards/cards.ts';
import type { ModelsConfig } from './config.ts';
import type { ApiType, Provider } from './provider.ts';

/** One place to ask. */
export interface Candidate {
  readonly provider: Provider;
  /** What the provider calls the model. */
  readonly model: string;
  readonly weight: number;
}

/** What a name means. */
export interface Target {
  /** As the caller writes it. */
  readonly name: string;
  readonly apiType: ApiType;
  readonly pricing: Pricing | undefined;
  /** At least one. */
  readonly candidates: readonly Candidate[];
}

export interface ListedModel {
  readonly name: string;
  /** In milliseconds; undefined for models of the operator's. */
  readonly createdAt?: number;
  readonly owner: string;
}

export interface Catalogue {
  /** Throws `invalidParams`. */
  resolve(workspace: string, name: string, apiType: ApiType): Target;
  /** What the workspace can use, at most MAX_LISTED. */
  list(workspace: string): readonly ListedModel[];
  find(workspace: string, name: string): ListedModel | undefined;
}

/** Where a card, or a model of the operator's, says it leads. */
interface Lead {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly routes?:
    | readonly { readonly provider: string; readonly model?: string | undefined; weight: number }[]
    | undefined;
  readonly capabilities: readonly { readonly type: string; readonly enabled: boolean }[];
  readonly pricing?: Pricing | undefined;
}

/** The reason of an error about a name that means nothing. */
export const MODEL_NOT_FOUND = 'MODEL_NOT_FOUND';

const MAX_LISTED = 1000;
const MAX_NEAREST = 5;
/** Of names that are compared. */
const MAX_COMPARED_CHARS = 48;
const MAX_SHOWN_CHARS = 80;
const OWNER = 'gateway';

/** Throws for a model of the operator's that leads nowhere. */
export function createCatalogue(
  cards: CardLookup,
  models: ModelsConfig,
  providers: ReadonlyMap<string, Provider>,
): Catalogue {
  const own = new Map(Object.entries(models));
  for (const [name, { provider, routes = [] }] of own) {
    const named = [...(provider === undefined ? [] : [provider]), ...routes.map(providerOf)];
    const missing = named.find((each) => !providers.has(each));
    if (missing === undefined) continue;
    throw new A2AError('invalidParams', `models.${name}: there is no provider ${missing}`);
  }

  function resolve(workspace: string, name: string, apiType: ApiType): Target {
    const card = cards.bySlug(workspace, name)?.card;
    const lead = card ?? own.get(name);
    if (lead === undefined) {
      const candidates = servers(name, apiType);
      if (candidates.length === 0) throw unknown(workspace, name, apiType);
      return { name, apiType, pricing: undefined, candidates };
    }
    if (lead.capabilities.some(({ type, enabled }) => type === apiType && !enabled)) {
      throw new A2AError('invalidParams', `The model ${name} is not for ${apiType}`);
    }
    const candidates = follow(name, lead, card?.name ?? name, apiType);
    return { name, apiType, pricing: lead.pricing, candidates };
  }

  /** All providers that list the name. */
  function servers(name: string, apiType: ApiType): Candidate[] {
    return [...providers.values()]
      .filter(({ serves }) => serves[apiType].includes(name))
      .map((provider) => ({ provider, model: name, weight: 1 }));
  }

  function follow(name: string, lead: Lead, otherwise: string, apiType: ApiType): Candidate[] {
    const routes = lead.routes ?? (lead.provider && [{ provider: lead.provider, weight: 1 }]);
    if (!routes) {
      const candidates = servers(lead.model ?? otherwise, apiType);
      if (candidates.length > 0) return candidates;
      const what = `no provider is configured for ${lead.model ?? otherwise} and ${apiType}`;
      throw new A2AError('invalidParams', `The card ${name} leads nowhere: ${what}`);
    }
    const known = routes.flatMap(({ provider: at, weight, ...route }) => {
      const provider = providers.get(at);
      const model = ('model' in route ? route.model : undefined) ?? lead.model ?? otherwise;
      return provider === undefined ? [] : [{ provider, model, weight }];
    });
    if (known.length === 0) {
      const named = routes.map(providerOf).join(', ');
      const what = `there is no provider ${named}`;
      throw new A2AError('invalidParams', `The card ${name} leads nowhere: ${what}`);
    }
    const able = known.filter(({ provider }) => provider.can[apiType]);
    if (able.length > 0) return able;
    throw new A2AError('invalidParams', `The model ${name} is not for ${apiType}`);
  }

  function unknown(workspace: string, name: string, apiType: ApiType): A2AError {
    const shown = JSON.stringify(name.slice(0, MAX_SHOWN_CHARS));
    const other = apiType === 'chat' ? 'embeddings' : 'chat';
    if (servers(name, other).length > 0) {
      return new A2AError(
        'invalidParams',
        `The model ${shown} is for ${other}, not for ${apiType}`,
      );
    }
    const names = new Set([
      ...cards.slugs(workspace, MAX_LISTED),
      ...own.keys(),
      ...[...providers.values()].flatMap(({ serves }) => serves[apiType]),
    ]);
    const near = nearest(name, names).join(', ');
    return new A2AError('invalidParams', `There is no model ${shown}. The nearest are: ${near}`, {
      reason: MODEL_NOT_FOUND,
    });
  }

  function* listed(workspace: string): Generator<ListedModel> {
    for (const slug of cards.slugs(workspace, MAX_LISTED)) {
      const card = cards.bySlug(workspace, slug);
      if (card === undefined) continue;
      yield { name: slug, createdAt: Date.parse(card.createdAt), owner: workspace };
    }
    for (const name of own.keys()) yield { name, owner: OWNER };
    for (const { name: owner, serves } of providers.values()) {
      for (const name of [...serves.chat, ...serves.embeddings]) yield { name, owner };
    }
  }

  return {
    resolve,
    list(workspace) {
      const byName = new Map<string, ListedModel>();
      for (const model of listed(workspace)) {
        if (byName.size >= MAX_LISTED) break;
        if (!byName.has(model.name)) byName.set(model.name, model);
      }
      return [...byName.values()];
    },
    find(workspace, name) {
      const card = cards.bySlug(workspace, name);
      if (card !== undefined) {
        return { name, createdAt: Date.parse(card.createdAt), owner: workspace };
      }
      if (own.has(name)) return { name, owner: OWNER };
      const at = [...providers.values()].find(
        ({ serves }) => serves.chat.includes(name) || serves.embeddings.includes(name),
      );
      return at && { name, owner: at.name };
    },
  };
}

function providerOf({ provider }: { readonly provider: string }): string {
  return provider;
}

function nearest(name: string, names: ReadonlySet<string>): string[] {
  const compared = (text: string) => text.slice(0, MAX_COMPARED_CHARS).toLowerCase();
  return [...names]
    .map((each) => ({ each, slips: distance(compared(name), compared(each)) }))
    .toSorted((a, b) => a.slips - b.slips)
    .slice(0, MAX_NEAREST)
    .map(({ each }) => each);
}
