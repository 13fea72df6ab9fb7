/**
 * Asks servers for their models, and for the size of a model's context window. Also checks whether a server has a
 * model, and which servers can be reached. Each server has its own format. In this list, "size" means the size of the
 * context window:
 *
 *   GET  /models                OpenAI, Anthropic, vLLM and most others: `data` with ids; some also list the size
 *   GET  /models                Google: `models` with names such as `models/gemini-3-flash`
 *   GET  /api/tags, /api/ps     Ollama: all models, and the loaded models with the size that is in use
 *   POST /api/show              Ollama: the abilities of a model, and its own `num_ctx`
 *   GET  /api/v0/models         LM Studio: the models with their state and sizes
 *   GET  /props                 llama.cpp: the size that is in use
 *
 * The servers are not trusted. The size of their answers is limited, and invalid fields are ignored.
 */
import * as z from 'zod';
import {
  boundedFetch,
  defined,
  nearestNames,
  reasonOf,
  shorten,
  systemCode,
} from '../../base/index.ts';
import { ModelError } from '../model.ts';
import { LOCAL_SERVERS, type ModelServer } from './model-servers.ts';
import { isWindow } from './too-long.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MODELS = 2000;
/**
 * Maximum number of models whose abilities are requested from Ollama. They are requested for the first models in its
 * list, because the list begins with the models that were changed last.
 */
const MAX_SHOWN = 12;

/** One model in the list of a server. */
interface ServedModel {
  readonly id: string;
  readonly contextWindow?: number;
  /** Whether the model is in memory, or undefined if the server does not report it. */
  readonly isLoaded?: boolean;
  /** Whether the model can call tools, or undefined if the server does not report it. */
  readonly hasTools?: boolean;
}

type AskedServer = Pick<ModelServer, 'vendor' | 'baseURL' | 'apiKey' | 'local'>;

/**
 * A model name. Control characters, line breaks and invisible characters are refused, because they could change how the
 * text around the name looks.
 */
const Name = z
  .string()
  .max(256)
  .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u);
const Tokens = z.number().refine(isWindow).optional().catch(undefined);
const Text = z.string().optional().catch(undefined);
const Words = z.array(z.string()).optional().catch(undefined);

/** A list whose invalid entries are left out. */
function listOf<T>(entry: z.ZodType<T>) {
  return z.array(z.unknown()).transform((all) =>
    all.slice(0, MAX_MODELS).flatMap((each): T[] => {
      const read = entry.safeParse(each);
      return read.success ? [read.data] : [];
    }),
  );
}

const OpenAiModel = z.object({
  id: Name,
  type: Text,
  state: Text,
  capabilities: Words,
  owned_by: Text,
  /** vLLM and SGLang. */
  max_model_len: Tokens,
  /** OpenRouter and Together. */
  context_length: Tokens,
  /** Groq. */
  context_window: Tokens,
  /** LM Studio: the size in use. `max_context_length` would be the maximum size. */
  loaded_context_length: Tokens,
});
type OpenAiModel = z.infer<typeof OpenAiModel>;
const OpenAiList = z.object({ data: listOf(OpenAiModel) });
const NamedList = z.object({
  models: listOf(
    z.object({
      name: Name,
      inputTokenLimit: Tokens,
      supportedGenerationMethods: Words,
      context_length: Tokens,
    }),
  ),
});
const Shown = z.object({ capabilities: Words, parameters: Text });
type Shown = z.infer<typeof Shown>;
const Props = z.object({ default_generation_settings: z.object({ n_ctx: Tokens }) });

const fetch = boundedFetch(MAX_BYTES);

/**
 * Returns the models of a server, without those that certainly cannot answer prompts, such as embedding models. Rejects
 * if the server has no list or does not answer.
 */
export async function listModels(server: AskedServer, signal: AbortSignal): Promise<ServedModel[]> {
  if (server.local === 'ollama') return ollamaModels(server, signal);
  if (server.local === 'lmstudio') {
    const detailed = await ask(server, rootOf(server, '/api/v0/models'), OpenAiList, signal).catch(
      () => undefined,
    );
    if (detailed) return detailed.data.filter(isChat).map(listed);
  }
  const address = `${modelsAddress(server)}${server.vendor.listQuery ?? ''}`;
  const list = await ask(server, address, z.union([OpenAiList, NamedList]), signal);
  if ('data' in list) return list.data.filter(isChat).map(listed);
  return list.models
    .filter(({ supportedGenerationMethods: can }) => can?.includes('generateContent') ?? true)
    .map(({ name, inputTokenLimit }) => entry(name.replace(/^models\//, ''), inputTokenLimit));
}

/**
 * Returns the size of the context window that is in use for a model, or undefined if the server does not report it. LM
 * Studio reports it only while the model is loaded. For a model that is not loaded, Ollama reports only the size in the
 * Modelfile, if there is one. Rejects if the server does not answer or sends an invalid answer.
 */
export async function contextWindowAt(
  server: AskedServer,
  id: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (server.local === 'ollama') return ollamaWindow(server, id, signal);
  if (server.local === 'lmstudio') {
    const models = await listModels(server, signal);
    return models.find((model) => model.id === id)?.contextWindow;
  }
  const { data } = await ask(server, modelsAddress(server), OpenAiList, signal);
  const model = data.find((each) => each.id === id) ?? (data.length === 1 ? data[0] : undefined);
  if (!model) return undefined;
  const told = listed(model).contextWindow;
  if (told !== undefined) return told;
  // Ollama and llama.cpp report the size elsewhere.
  if (model.owned_by === 'library') return ollamaWindow(server, id, signal);
  if (model.owned_by !== 'llamacpp') return undefined;
  const props = await ask(server, rootOf(server, '/props'), Props, signal);
  return props.default_generation_settings.n_ctx;
}

async function ollamaModels(server: AskedServer, signal: AbortSignal): Promise<ServedModel[]> {
  const { models } = await ask(server, rootOf(server, '/api/tags'), NamedList, signal);
  const loaded = await ask(server, rootOf(server, '/api/ps'), NamedList, signal).catch(() => ({
    models: [],
  }));
  const found = await Promise.all(
    models.map(async ({ name }, at): Promise<ServedModel[]> => {
      const shown =
        at < MAX_SHOWN ? await show(server, name, signal).catch(() => undefined) : undefined;
      const { capabilities } = shown ?? {};
      if (capabilities && !capabilities.includes('completion')) return [];
      const running = loaded.models.find((each) => each.name === name);
      return [
        {
          ...entry(name, running?.context_length ?? ownSize(shown)),
          isLoaded: running !== undefined,
          ...(capabilities && { hasTools: capabilities.includes('tools') }),
        },
      ];
    }),
  );
  return found.flat();
}

async function ollamaWindow(
  server: AskedServer,
  id: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const names = new Set([id, `${id}:latest`]);
  const { models } = await ask(server, rootOf(server, '/api/ps'), NamedList, signal);
  const running = models.find(({ name }) => names.has(name));
  return running?.context_length ?? ownSize(await show(server, id, signal));
}

function show(server: AskedServer, model: string, signal: AbortSignal): Promise<Shown> {
  return ask(server, rootOf(server, '/api/show'), Shown, signal, { model });
}

/**
 * Returns the size in a model's Modelfile, or undefined if the Modelfile has no size. Without a size in the Modelfile,
 * Ollama uses a size that depends on the machine, not the size with which the model was trained.
 */
function ownSize(shown: Shown | undefined): number | undefined {
  const [, size] = /^num_ctx\s+(\d+)/m.exec(shown?.parameters ?? '') ?? [];
  const tokens = Number(size);
  return isWindow(tokens) ? tokens : undefined;
}

function listed(model: OpenAiModel): ServedModel {
  const { id, state, capabilities } = model;
  const { max_model_len, context_length, context_window, loaded_context_length } = model;
  return {
    ...entry(id, loaded_context_length ?? max_model_len ?? context_length ?? context_window),
    ...(state !== undefined && { isLoaded: state === 'loaded' }),
    ...(capabilities && { hasTools: capabilities.includes('tool_use') }),
  };
}

function entry(id: string, contextWindow: number | undefined): ServedModel {
  return { id, ...defined({ contextWindow }) };
}

function isChat({ type, id }: OpenAiModel): boolean {
  return type !== 'embeddings' && !/(^|[-/])(text-)?embed/i.test(id);
}

async function ask<T>(
  server: AskedServer,
  url: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
  body?: object,
): Promise<T> {
  const response = await fetchFrom(server, url, signal, body);
  if (!response.ok) {
    await response.body?.cancel();
    throw new ListError(response.status);
  }
  return schema.parse(await response.json());
}

/** Sends a request with the server's key. With a body, the method is POST. */
function fetchFrom(
  { vendor, apiKey }: AskedServer,
  url: string,
  signal: AbortSignal,
  body?: object,
): Promise<Response> {
  return fetch(url, {
    headers: {
      ...(apiKey !== undefined && vendor.keyHeaders(apiKey)),
      ...(body && { 'content-type': 'application/json' }),
    },
    signal,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
}

/** The error for a server that answers with an HTTP status other than success. */
class ListError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server answered with status ${status}`);
    this.status = status;
  }
}

/**
 * Returns the address of the list of models. The address of one model is this address, followed by `/` and the name of
 * the model.
 */
function modelsAddress({ baseURL }: AskedServer): string {
  return `${baseURL.replace(/\/$/, '')}/models`;
}

/**
 * Returns the address of a path outside the OpenAI-compatible API. The `/v1` of this API is removed from the base URL.
 */
function rootOf({ baseURL }: AskedServer, path: string): string {
  return `${baseURL.replace(/(\/v1)?\/?$/, '')}${path}`;
}

const KNOWN_TIMEOUT_MS = 5000;
const MAX_NAMED = 3;
const MAX_NAME_CHARS = 80;

/** Names that can be used unchanged in the path of a URL. */
const PLAIN = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\w.:@/-]{1,200}$/;

/**
 * Checks whether a vendor has a model, so that a misspelled name is refused when it is chosen, and not only at the
 * first request. Throws a ModelError with similar names if the vendor does not have the model. `prefix` is the vendor's
 * prefix in model names, and `id` is the vendor's name for the model.
 *
 * Usually the model itself is requested first. If this request gets 404, the list of models is read, and a name that is
 * not in the list is refused. For a local server (`server.local`), and for a name that cannot be used in a URL, only
 * the list is read.
 *
 * If the list cannot be read or is empty, the result depends on the server:
 * - A local server: the name is refused. Otherwise a client that selects a model could make this program send a
 *   conversation to another service on the same port.
 * - Any other server: the name is accepted, because some servers have no list, and some keys are not allowed to read
 *   it. A wrong name then fails at the first prompt.
 */
export async function requireKnown(
  { prefix, id }: { readonly prefix: string; readonly id: string },
  server: AskedServer,
  signal: AbortSignal,
): Promise<void> {
  const { baseURL, local } = server;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(KNOWN_TIMEOUT_MS)]);
  let names: readonly string[];
  try {
    if (local === undefined && PLAIN.test(id)) {
      const found = await fetchFrom(server, `${modelsAddress(server)}/${id}`, limited);
      await found.body?.cancel();
      if (found.status !== 404) return;
    }
    names = (await listModels(server, limited)).map((model) => model.id);
  } catch {
    signal.throwIfAborted();
    if (local === undefined) return;
    const { title, start } = LOCAL_SERVERS[local];
    const message = `${title} does not answer at ${baseURL}: start it (${start}), or use another model`;
    throw new ModelError('unreachable', message);
  }
  // Ollama adds the tag `latest` to names without a tag.
  if ([id, `${id}:latest`].some((name) => names.includes(name))) return;
  if (names.length === 0 && local === undefined) return;
  const near = nearestNames(id, names, { maxDistance: (name) => Math.max(3, name.length / 3) })
    .slice(0, MAX_NAMED)
    .map((name) => `${prefix}:${name}`);
  const hint =
    near.length === 0 ? `${prefix} has no such model` : `did you mean ${near.join(', ')}?`;
  const given = JSON.stringify(`${prefix}:${shorten(id, MAX_NAME_CHARS)}`);
  throw new ModelError('not-found', `unknown model ${given}: ${hint}`);
}

export interface ReachableServer {
  readonly prefix: string;
  readonly baseURL: string;
  /**
   * The models that the server lists, and its models in the settings. If the server did not list its models, only
   * those in the settings. Empty if the server's key is missing or its address is invalid.
   */
  readonly models: readonly ServedModel[];
  /** The reason why the server cannot be used or did not list its models, in one line. */
  readonly problem?: string;
}

/** Asks all servers at the same time. Rejects only if the signal is aborted. */
export async function reachableServers(
  servers: readonly ModelServer[],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<ReachableServer[]> {
  const limit = AbortSignal.timeout(timeoutMs);
  const within = signal ? AbortSignal.any([signal, limit]) : limit;
  return Promise.all(
    servers.map(async (server): Promise<ReachableServer> => {
      const { prefix, baseURL } = server;
      const problem = server
        .problem?.(prefix)
        .message.replace(`${prefix} `, '')
        .replace(/: set it in.*/, '');
      if (problem !== undefined) return { prefix, baseURL, models: [], problem };
      try {
        return { prefix, baseURL, models: merged(server, await listModels(server, within)) };
      } catch (error) {
        signal?.throwIfAborted();
        const why = limit.aborted ? `no answer within ${timeoutMs} ms` : reason(error, server);
        return { prefix, baseURL, models: merged(server, []), problem: why };
      }
    }),
  );
}

/**
 * Returns the models in the order in which to offer them. Models that cannot call tools come last. Within both groups,
 * models that are not loaded come last.
 */
export function offered(models: readonly ServedModel[]): readonly ServedModel[] {
  const rank = ({ hasTools, isLoaded }: ServedModel) =>
    (hasTools === false ? 2 : 0) + (isLoaded === false ? 1 : 0);
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Adds the models in the settings, and sets the sizes of the context windows. The size of a model in the settings
 * overrides the size that the server lists. If both are missing, the size in the settings of the server is used.
 */
function merged({ entry }: ModelServer, models: readonly ServedModel[]): ServedModel[] {
  const own = Object.entries(entry?.models ?? {});
  const known = new Set(models.map(({ id }) => id));
  const all: ServedModel[] = [...models, ...own.flatMap(([id]) => (known.has(id) ? [] : [{ id }]))];
  const sizeOf = ({ id, contextWindow }: ServedModel): number | undefined =>
    own.find(([name]) => name === id)?.[1].contextWindow ?? contextWindow ?? entry?.contextWindow;
  return all.map((model) => withSize(model, sizeOf(model)));
}

function withSize(model: ServedModel, contextWindow: number | undefined): ServedModel {
  return contextWindow === undefined ? model : { ...model, contextWindow };
}

function reason(error: unknown, { local, keyVariable }: ModelServer): string {
  if (error instanceof ListError) {
    const { status } = error;
    if (status === 401 || status === 403) {
      return `refused the key${keyVariable === undefined ? '' : ` in ${keyVariable}`} (${status})`;
    }
    return `did not list its models (status ${status})`;
  }
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = systemCode(cause);
  if (code === 'ECONNREFUSED' && local) return `not running (${LOCAL_SERVERS[local].start})`;
  if (error instanceof Error && error.name === 'ZodError') return 'is not a model server';
  return `cannot be reached (${code ?? reasonOf(cause)})`;
}
