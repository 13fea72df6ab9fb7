/**
 * Asks servers for their models, and for the size of a model's context window. Each server has its own format:
 *
 *   GET  /models                OpenAI, Anthropic, vLLM and most others: `data` with ids; some also list the size
 *   GET  /models                Google: `models` with names such as `models/gemini-3-flash`
 *   GET  /api/tags, /api/ps     Ollama: the models, and the loaded ones with the size that is in use
 *   POST /api/show              Ollama: the abilities of a model, and its own `num_ctx`
 *   GET  /api/v0/models         LM Studio: the models with their state and sizes
 *   GET  /props                 llama.cpp: the size that is in use
 *
 * The servers are not trusted. The size of their answers is limited, and invalid fields are ignored.
 */
import * as z from 'zod';
import { boundedFetch, defined } from '../../base/index.ts';
import type { ModelServer } from './model-servers.ts';
import { isWindow } from './too-long.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MODELS = 2000;
/**
 * Maximum number of models whose abilities are requested from Ollama. These are the first models in its list, which are
 * the latest.
 */
const MAX_SHOWN = 12;

/** One model in the list of a server. */
export interface ServedModel {
  readonly id: string;
  readonly contextWindow?: number;
  /** Whether the model is in memory, or undefined if the server does not report it. */
  readonly isLoaded?: boolean;
  /** Whether the model can call tools, or undefined if the server does not report it. */
  readonly hasTools?: boolean;
}

export type AskedServer = Pick<ModelServer, 'vendor' | 'baseURL' | 'apiKey' | 'local'>;

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
export function fetchFrom(
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
export class ListError extends Error {
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
export function modelsAddress({ baseURL }: AskedServer): string {
  return `${baseURL.replace(/\/$/, '')}/models`;
}

/**
 * Returns the address of a path outside the OpenAI-compatible API. The `/v1` of this API is removed from the base URL.
 */
function rootOf({ baseURL }: AskedServer, path: string): string {
  return `${baseURL.replace(/(\/v1)?\/?$/, '')}${path}`;
}
