/** Ollama, LM Studio and vLLM on loopback: their lists of models, their sizes and their errors, as they write them. */
import { openaiCompatible } from './openai-compatible.ts';
import { fakeVendor, type Asked, type FakeVendor, type Reply } from './server.ts';

/** Where no model server is, so that those of the machine that runs the tests are not found. */
export const NO_LOCAL_MODELS = {
  OLLAMA_BASE_URL: 'http://127.0.0.1:2',
  LMSTUDIO_BASE_URL: 'http://127.0.0.1:2',
  VLLM_BASE_URL: 'http://127.0.0.1:2',
};

export interface LocalModel {
  readonly name: string;
  readonly capabilities?: readonly string[];
  /** The size that is in force once the model is loaded. */
  readonly context?: number;
  /** The size in Ollama's Modelfile. */
  readonly numCtx?: number;
  readonly isLoaded?: boolean;
}

type Answers = readonly Reply[] | ((asked: Asked) => Reply | Promise<Reply>);

const ok = (body: unknown): Reply => ({ status: 200, body });
const answer = (): Reply => ({ events: openaiCompatible.answer });

/** Ollama never refuses a long conversation: it drops the start of it without a word. */
export function fakeOllama(
  models: readonly LocalModel[],
  answers: Answers = answer,
): Promise<FakeVendor> {
  const loaded = new Set(models.filter(({ isLoaded }) => isLoaded).map(({ name }) => name));
  const named = (name: unknown) =>
    models.find((model) => model.name === name || model.name === `${String(name)}:latest`);
  return fakeVendor(answers, {
    route(method, path, body) {
      const model = named(field(body, 'model'));
      const missing = {
        error: { message: `model not found, try pulling it first`, type: 'api_error' },
      };
      if (path === '/v1/chat/completions') {
        if (!model) return { status: 404, body: missing };
        loaded.add(model.name);
        return undefined;
      }
      if (method === 'GET' && path === '/api/tags') {
        const details = { format: 'gguf', family: 'qwen3', parameter_size: '8.2B' };
        return ok({
          models: models.map(({ name }) => ({ name, model: name, size: 5e9, details })),
        });
      }
      if (method === 'GET' && path === '/api/ps') {
        const running = models.filter(({ name }) => loaded.has(name));
        return ok({
          models: running.map(({ name, context }) => ({
            name,
            model: name,
            context_length: context,
          })),
        });
      }
      if (method === 'POST' && path === '/api/show') {
        if (!model) return { status: 404, body: { error: 'model not found' } };
        const { capabilities = ['completion', 'tools'], numCtx } = model;
        return ok({
          parameters:
            numCtx === undefined ? 'stop "<|im_end|>"' : `num_ctx                        ${numCtx}`,
          model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40_960 },
          capabilities,
        });
      }
      if (method === 'GET' && path === '/v1/models') {
        return ok({
          object: 'list',
          data: models.map(({ name: id }) => ({ id, object: 'model', owned_by: 'library' })),
        });
      }
      return { status: 404, body: '404 page not found' };
    },
  });
}

/** LM Studio answers unknown paths with status 200 and an error, and its errors are plain strings. */
export function fakeLmStudio(
  models: readonly LocalModel[],
  answers: Answers = answer,
): Promise<FakeVendor> {
  return fakeVendor(answers, {
    route(method, path) {
      if (method === 'POST' && path === '/v1/chat/completions') return undefined;
      if (method === 'GET' && path === '/api/v0/models') {
        const data = models.map(({ name: id, isLoaded, context, capabilities }) => ({
          id,
          object: 'model',
          type: /embed/.test(id) ? 'embeddings' : 'llm',
          state: isLoaded ? 'loaded' : 'not-loaded',
          max_context_length: 131_072,
          ...(isLoaded && { loaded_context_length: context }),
          capabilities: capabilities ?? ['tool_use'],
        }));
        return ok({ object: 'list', data });
      }
      if (method === 'GET' && path === '/v1/models') {
        return ok({
          data: models.map(({ name: id }) => ({ id, object: 'model' })),
          object: 'list',
        });
      }
      return ok({ error: `Unexpected endpoint or method. (${method} ${path})` });
    },
  });
}

/** What LM Studio says if a conversation is too long. */
export const LM_STUDIO_TOO_LONG: Reply = {
  status: 400,
  body: {
    error:
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
  },
};

export function fakeVllm(
  models: readonly LocalModel[],
  answers: Answers = answer,
): Promise<FakeVendor> {
  return fakeVendor(answers, {
    route(method, path) {
      if (method === 'POST' && path === '/v1/chat/completions') return undefined;
      if (method === 'GET' && path === '/v1/models') {
        return ok({
          object: 'list',
          data: models.map(({ name: id, context: max_model_len }) => ({
            id,
            object: 'model',
            owned_by: 'vllm',
            root: id,
            max_model_len,
          })),
        });
      }
      return { status: 404, body: { detail: 'Not Found' } };
    },
  });
}

/** What vLLM says if a conversation is too long: the fields of the error are not inside `error`. */
export const VLLM_TOO_LONG: Reply = {
  status: 400,
  body: {
    object: 'error',
    message:
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
    type: 'BadRequestError',
    param: null,
    code: 400,
  },
};

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
