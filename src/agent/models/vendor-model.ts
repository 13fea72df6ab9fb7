/**
 * A vendor's models, with a key and an address from whoever has them: the environment (resolve.ts) or a configuration.
 * The vendor's package is loaded when the model is first asked.
 */
import { ModelError, type Model } from '../model.ts';
import { embeddingsFrom, type EmbeddingModel, type EmbeddingOptions } from './embeddings.ts';
import { fromProvider, type ProviderOptions } from './provider.ts';
import { contextWindowOf, VENDORS, type Vendor, type VendorSettings } from './vendors.ts';

export interface VendorModelOptions extends Omit<
  ProviderOptions,
  'contextWindow' | 'providerOptions' | 'secret'
> {
  /** Why it cannot be used. Thrown when it is checked or asked. */
  readonly problem?: ModelError | undefined;
  /** Asks the vendor to show what the model thinks. */
  readonly thoughts?: boolean;
}

/** The model `id` of the vendor `type`. */
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
    const providerOptions = vendor.options?.(id, thoughts);
    return fromProvider(languageModel, {
      ...rest,
      name,
      ...(settings.apiKey !== undefined && { secret: settings.apiKey }),
      ...(providerOptions !== undefined && { providerOptions }),
    });
  });
  return {
    name,
    ...(contextWindow !== undefined && { contextWindow }),
    check() {
      if (problem !== undefined) throw problem;
    },
    async *generate(request, signal) {
      if (problem !== undefined) throw problem;
      yield* (await load()).generate(request, signal);
    },
  };
}

/** The same for embeddings. Throws a ModelError where the vendor has none. */
export function vendorEmbeddings(
  type: string,
  id: string,
  settings: VendorSettings,
  options: EmbeddingOptions = {},
): EmbeddingModel {
  const { name = `${type}:${id}`, ...rest } = options;
  const { loadEmbeddings } = vendorOf(type);
  if (loadEmbeddings === undefined) {
    throw new ModelError('invalid-request', `${type} has no models for embeddings: use another`);
  }
  const load = once(name, async () => {
    const model = await loadEmbeddings(id, settings);
    return embeddingsFrom(model, {
      ...rest,
      name,
      ...(settings.apiKey !== undefined && { secret: settings.apiKey }),
    });
  });
  return { name, embed: async (texts, signal) => (await load()).embed(texts, signal) };
}

function vendorOf(type: string): Vendor {
  const vendor = Object.hasOwn(VENDORS, type) ? VENDORS[type] : undefined;
  if (vendor !== undefined) return vendor;
  const known = Object.keys(VENDORS).join(', ');
  throw new ModelError('invalid-request', `there is no vendor ${type}: it is one of ${known}`);
}

/** What cannot be loaded is tried again when it is next wanted. */
function once<T>(name: string, load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((cause: unknown) => {
      loading = undefined;
      const message = `the client for ${name} cannot be loaded: install it again`;
      throw new ModelError('failed', message, { cause });
    });
    return loading;
  };
}
