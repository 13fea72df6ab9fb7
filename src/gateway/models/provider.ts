/** A provider of models, with its clients, its circuit breakers and its limit of concurrent calls. */
import { isDeepStrictEqual } from 'node:util';
import {
  ModelError,
  type Model,
  type ModelChunk,
  offlineModel,
  type VendorEnvironment,
} from '../../agent/index.ts';
import {
  VENDORS,
  addressOf,
  offlineEmbeddings,
  scriptFromFile,
  serverOf,
  type EmbeddingModel,
  vendorEmbeddings,
  vendorModel,
} from '../../agent/internal/index.ts';
import {
  BoundedMap,
  createCircuits,
  createSlots,
  type Circuits,
  type Slots,
} from '../../base/index.ts';
import { type OtherNodes, tellNews } from './circuit-news.ts';
import type { ProviderConfig, ProvidersConfig } from './config.ts';
import { withImplied } from './implied.ts';
import type { RawChunk, Relay } from './relay/relay.ts';
import { relayed } from './relay/relayed.ts';

export type ApiType = 'chat' | 'embeddings';

export interface Provider {
  readonly name: string;
  readonly config: ProviderConfig;
  readonly circuits: Circuits<ModelError>;
  readonly slots: Slots;
  /** True for each API type that the provider supports. */
  readonly can: Readonly<Record<ApiType, boolean>>;
  /** The models that the configuration lists for this provider. */
  readonly serves: Readonly<Record<ApiType, readonly string[]>>;
  /** Returns a client for a model. The model need not be listed in `serves`. */
  chat(model: string): Model;
  embeddings(model: string): EmbeddingModel;
  /**
   * Sends a request in the provider's own format. Undefined if the provider has no format of its own. Throws a
   * ModelError if a required API key is missing.
   */
  relay?(
    request: Relay,
    target: { readonly model: string; readonly maxOutputTokens?: number | undefined },
    signal: AbortSignal,
  ): AsyncIterable<ModelChunk | RawChunk>;
}

/** Returns whether the provider gets the client's own request. */
export function relays(
  provider: Provider,
  relay: Pick<Relay, 'accepts'>,
): provider is Provider & Required<Pick<Provider, 'relay'>> {
  return provider.relay !== undefined && relay.accepts(provider.config.type);
}

/**
 * Maximum number of cached clients of one provider for each API type. The number is limited, because a model card may
 * name any model.
 */
const MAX_KEPT = 256;

interface ProvidersOptions {
  readonly env: VendorEnvironment;
  readonly now: () => number;
  readonly before: ReadonlyMap<string, Provider>;
  /**
   * The connection to the other gateways. This gateway tells them when a circuit breaker opens, or when a model must
   * not be called for a while.
   */
  readonly otherNodes: OtherNodes | undefined;
}

/**
 * Returns the configured providers and the providers that need no configuration, by name. A provider in `before` with
 * the same name and the same settings is kept, with the state of its circuit breakers.
 */
export function createProviders(
  given: ProvidersConfig,
  { env, now, before, otherNodes }: ProvidersOptions,
): ReadonlyMap<string, Provider> {
  function create(name: string, config: ProviderConfig): Provider {
    const { models = [], embeddingModels = [] } = config;
    return {
      name,
      config,
      circuits: createCircuits(config.circuit, now, (news) => {
        if (otherNodes) tellNews(otherNodes, name, news);
      }),
      slots: createSlots(config.maxConcurrent, now),
      serves: { chat: models, embeddings: embeddingModels },
      ...clientsOf(name, config, env),
    };
  }

  return new Map(
    [...withImplied(given, env)].map(([name, config]) => {
      const known = before.get(name);
      const same = known !== undefined && isDeepStrictEqual(known.config, config);
      return [name, same ? known : create(name, config)];
    }),
  );
}

/**
 * The hint in the answers of the offline model. It does not mention API keys, because callers of the gateway cannot set
 * them.
 */
const ANOTHER_MODEL =
  'To use a real model, choose one from the list at /v1/models. The operator of this gateway can add more models.';

function clientsOf(
  provider: string,
  config: ProviderConfig,
  env: VendorEnvironment,
): Pick<Provider, 'can' | 'chat' | 'embeddings' | 'relay'> {
  const { type, timeoutMs, idleTimeoutMs, firstByteMs: firstEventTimeoutMs } = config;
  if (type === 'offline') {
    const [chat, embeddings] = [offlineModel(ANOTHER_MODEL), offlineEmbeddings()];
    return {
      can: { chat: true, embeddings: true },
      chat: () => chat,
      embeddings: () => embeddings,
    };
  }
  if (type === 'scripted') {
    const script = scriptFromFile(config.file ?? '');
    return {
      can: { chat: true, embeddings: false },
      chat: () => script,
      embeddings() {
        throw new ModelError('invalid-request', `${provider} has no embedding models`);
      },
    };
  }
  const vendor = VENDORS[type];
  if (vendor === undefined) throw new ModelError('invalid-request', `unknown vendor ${type}`);
  // An API key from the environment must be sent only to the vendor's own address.
  const apiKey =
    config.apiKey ?? (config.baseUrl === undefined ? serverOf(type, env)?.apiKey : undefined);
  const keyProblem =
    apiKey === undefined && vendor.keyOptional !== true
      ? new ModelError('no-key', `the provider ${provider} has no API key: set its apiKey`)
      : undefined;
  const settings = {
    baseURL: addressOf(vendor, config.baseUrl) ?? '',
    structuredOutputs: true,
    ...(apiKey !== undefined && { apiKey }),
  };
  const timeouts = { timeoutMs, idleTimeoutMs, firstEventTimeoutMs };
  const nameOf = (model: string) => `${provider}:${model}`;
  return {
    can: { chat: true, embeddings: vendor.loadEmbeddings !== undefined },
    chat: kept((model) => {
      const options = { name: nameOf(model), problem: keyProblem, strict: true, ...timeouts };
      return vendorModel(type, model, settings, { ...options, retry: false });
    }),
    embeddings: kept((model) => {
      if (keyProblem !== undefined) throw keyProblem;
      const options = { name: nameOf(model), timeoutMs: firstEventTimeoutMs };
      return vendorEmbeddings(type, model, settings, options);
    }),
    relay(request, { model, maxOutputTokens }, signal) {
      if (keyProblem !== undefined) throw keyProblem;
      const target = { vendor, settings, model, name: nameOf(model), maxOutputTokens, ...timeouts };
      return relayed(request, target, signal);
    },
  };
}

/** Returns a function that creates one client per model. The MAX_KEPT most recently used clients are cached. */
function kept<T>(make: (model: string) => T): (model: string) => T {
  const made = new BoundedMap<T>(MAX_KEPT);
  return (model) => {
    const known = made.get(model) ?? make(model);
    made.set(model, known);
    return known;
  };
}
