/**
 * Creates the models of a vendor with a given key and base URL. The key and the URL come from the environment
 * (resolve.ts) or from a configuration. The vendor's package is loaded at the first request.
 */
import { BoundedMap, defined, reasonOf } from '../../base/index.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';
import { embeddingsFrom, type EmbeddingModel, type EmbeddingOptions } from './embeddings.ts';
import type { LocalServer } from './model-servers.ts';
import { CHARS_PER_TOKEN, estimateUsage } from './pieces.ts';
import { fromProvider, type ProviderOptions } from './provider.ts';
import { contextWindowOf, VENDORS, type Vendor, type VendorSettings } from './vendors.ts';

export interface VendorModelOptions extends Omit<
  ProviderOptions,
  'providerOptions' | 'secret' | 'webSearch'
> {
  /**
   * The reason why the model cannot be used, or undefined if it can be used. `check`, `checkName` and `generate` throw
   * this error.
   */
  readonly problem?: ModelError | undefined;
  /** Whether to request the model's thoughts from the vendor. */
  readonly thoughts?: boolean;
  /** The kind of the model server, if it is a server on this machine. */
  readonly local?: LocalServer;
  /** Called when the server has reported the size of the context window. Must not throw. */
  readonly onContextWindow?: (model: string, tokens: number) => void;
}

/**
 * Maximum number of times that a server is asked for the size of a context window. Ollama and LM Studio may not report
 * the size before the first request, because the model is not loaded yet.
 */
const MAX_ASKED = 3;
const ASK_MS = 2000;
/**
 * The estimated size of the context window, as a share of the request. It is used if the request was refused as too
 * long, and the error does not name the size.
 */
const REFUSED_SHARE = 0.75;
const MAX_ADDRESSES = 256;

/** The base URLs of servers that do not have the vendor's own API, but only the API of the vendor's `fallback`. */
const WITHOUT_OWN_API = new BoundedMap<boolean>(MAX_ADDRESSES);

/** Returns the model `id` of the vendor `type`. */
export function vendorModel(
  type: string,
  id: string,
  settings: VendorSettings,
  options: VendorModelOptions = {},
): Model {
  const vendor = vendorOf(type);
  const { problem, name = `${type}:${id}`, local, onContextWindow } = options;
  const server = { vendor, ...settings, ...defined({ local }) };
  const clientOf = (used: Vendor) =>
    once(name, () => client(used, id, settings, { ...options, name }));
  const own = clientOf(vendor);
  const simpler = vendor.fallback === undefined ? undefined : clientOf(vendorOf(vendor.fallback));
  /** Whether the server has only the API of the fallback. */
  const isSimpler = () => simpler !== undefined && WITHOUT_OWN_API.get(settings.baseURL) === true;
  /**
   * Whether the base URL is different from the vendor's own. A server at a different URL may lack the vendor's API, and
   * is asked for the size of the context window.
   */
  const isOther = settings.baseURL !== vendor.address;

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    if (simpler === undefined || !isOther || isSimpler()) {
      yield* (await (isSimpler() && simpler ? simpler : own)()).generate(request, signal);
      return;
    }
    let begun = false;
    try {
      for await (const chunk of (await own()).generate(request, signal)) {
        begun = true;
        yield chunk;
      }
    } catch (error) {
      if (begun || !isMissing(error)) throw error;
      for await (const chunk of (await simpler()).generate(request, signal)) {
        WITHOUT_OWN_API.set(settings.baseURL, true);
        yield chunk;
      }
    }
  }

  let contextWindow = options.contextWindow ?? contextWindowOf(`${type}:${id}`);
  let asked = 0;
  return {
    name,
    get contextWindow() {
      return contextWindow;
    },
    get searchesWeb() {
      return problem === undefined && !isSimpler() && vendor.webSearch?.(id) !== undefined;
    },
    check() {
      if (problem !== undefined) throw problem;
    },
    async checkName(signal) {
      if (problem !== undefined) throw problem;
      // The module is loaded on demand, because it loads zod.
      const { requireKnown } = await import('./model-list.ts');
      const [prefix = type] = name.split(':', 1);
      await requireKnown({ prefix, id }, server, signal);
    },
    async findContextWindow(signal) {
      if (contextWindow !== undefined || problem !== undefined || asked >= MAX_ASKED) return;
      if (!isOther) return;
      asked++;
      const limited = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
      try {
        const { contextWindowAt } = await import('./model-list.ts');
        contextWindow = await contextWindowAt(server, id, limited);
      } catch {
        signal.throwIfAborted();
      }
      if (contextWindow !== undefined) onContextWindow?.(name, contextWindow);
    },
    async *generate(request, signal) {
      if (problem !== undefined) throw problem;
      try {
        yield* generate(request, signal);
      } catch (error) {
        if (error instanceof ModelError && error.code === 'too-long') {
          const tokens = error.contextWindow ?? Math.floor(sizeOf(request) * REFUSED_SHARE);
          contextWindow = Math.min(contextWindow ?? Infinity, tokens);
        }
        throw error;
      }
    },
  };
}

async function client(
  vendor: Vendor,
  id: string,
  settings: VendorSettings,
  options: VendorModelOptions,
): Promise<Model> {
  const { problem: _, thoughts = false, contextWindow: __, local: ___, ...rest } = options;
  const languageModel = await vendor.load(id, settings);
  return fromProvider(languageModel, {
    ...rest,
    ...defined({ secret: settings.apiKey }),
    webSearch: vendor.webSearch?.(id),
    providerOptions: (request) =>
      vendor.options?.(id, { ...request, thoughts: request.thoughts ?? thoughts }),
  });
}

/**
 * Returns whether the error can mean that the server does not have the requested path. A 404 may also mean that the
 * server has the path, but does not know the model.
 */
function isMissing(error: unknown): boolean {
  return error instanceof ModelError && [404, 405, 501].includes(error.status ?? 0);
}

/** Returns an estimate of the size of a request in tokens. */
function sizeOf(request: ModelRequest): number {
  const tools = JSON.stringify(request.tools ?? []).length / CHARS_PER_TOKEN;
  return estimateUsage(request, 0).inputTokens + tools;
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
    return embeddingsFrom(model, { ...rest, name, ...defined({ secret: settings.apiKey }) });
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
      const message = `${name} cannot be used: ${reasonOf(cause)}`;
      throw new ModelError('failed', message, { cause });
    });
    return loading;
  };
}
