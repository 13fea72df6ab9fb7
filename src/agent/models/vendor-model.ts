/**
 * Creates the models of a vendor with a given key and base URL. The key and the URL come from the environment
 * (resolve.ts) or from a configuration. The vendor's package is loaded at the first request.
 */
import { ModelError, type Model, type ModelRequest } from '../model.ts';
import { embeddingsFrom, type EmbeddingModel, type EmbeddingOptions } from './embeddings.ts';
import { fromProvider, type ProviderOptions } from './provider.ts';
import { contextWindowOf, VENDORS, type Vendor, type VendorSettings } from './vendors.ts';

export interface VendorModelOptions extends Omit<
  ProviderOptions,
  'contextWindow' | 'providerOptions' | 'secret'
> {
  /**
   * The reason why the model cannot be used, or undefined if it can be used. `check` and `generate` throw this error.
   */
  readonly problem?: ModelError | undefined;
  /** Whether to request the model's thoughts from the vendor. */
  readonly thoughts?: boolean;
}

/** Returns the model `id` of the vendor `type`. */
export function vendorModel(
  type: string,
  id: string,
  settings: VendorSettings,
  options: VendorModelOptions = {},
): Model {
  const vendor = vendorOf(type);
  const { problem, thoughts = false, name = `${type}:${id}`, ...rest } = options;
  const contextWindow = contextWindowOf(`${type}:${id}`);
  const load = once(name, async () => {
    const languageModel = await vendor.load(id, settings);
    const providerOptions = (request: ModelRequest) =>
      vendor.options?.(id, { ...request, thoughts: request.thoughts ?? thoughts });
    return fromProvider(languageModel, {
      ...rest,
      name,
      ...(settings.apiKey !== undefined && { secret: settings.apiKey }),
      providerOptions,
    });
  });
  return {
    name,
    ...(contextWindow !== undefined && { contextWindow }),
    check() {
      if (problem !== undefined) throw problem;
    },
    async checkName(signal) {
      if (problem !== undefined) throw problem;
      // The module is loaded on demand, because it loads zod.
      const { requireKnown } = await import('./known-model.ts');
      await requireKnown({ prefix: type, id }, vendor, settings, signal);
    },
    async *generate(request, signal) {
      if (problem !== undefined) throw problem;
      yield* (await load()).generate(request, signal);
    },
  };
}

/** Returns the embedding model `id` of the vendor `type`. Throws a ModelError if the vendor has no embedding models. */
export function vendorEmbeddings(
  type: string,
  id: string,
  settings: VendorSettings,
  options: EmbeddingOptions = {},
): EmbeddingModel {
  const { name = `${type}:${id}`, ...rest } = options;
  const { loadEmbeddings } = vendorOf(type);
  if (loadEmbeddings === undefined) {
    throw new ModelError('invalid-request', `${type} has no embedding models: use another vendor`);
  }
  const load = once(name, async () => {
    const model = await loadEmbeddings(id, settings);
    return embeddingsFrom(model, {
      ...rest,
      name,
      ...(settings.apiKey !== undefined && { secret: settings.apiKey }),
    });
  });
  return {
    name,
    embed: async (texts, signal, dimensions) => (await load()).embed(texts, signal, dimensions),
  };
}

function vendorOf(type: string): Vendor {
  const vendor = Object.hasOwn(VENDORS, type) ? VENDORS[type] : undefined;
  if (vendor !== undefined) return vendor;
  const known = Object.keys(VENDORS).join(', ');
  throw new ModelError('invalid-request', `unknown vendor ${type}: use one of ${known}`);
}

/** Returns a function that calls `load` only once. If `load` fails, the next call tries again. */
function once<T>(name: string, load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((cause: unknown) => {
      loading = undefined;
      const message = `the client package of ${name} cannot be loaded: reinstall Parley`;
      throw new ModelError('failed', message, { cause });
    });
    return loading;
  };
}
