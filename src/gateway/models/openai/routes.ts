/**
 * The models at addresses that OpenAI's clients know: `/v1/chat/completions`, `/v1/embeddings` and `/v1/models`. No
 * task is made, and nothing is kept of it but what it took.
 */
import { A2AError, type Call } from '../../../protocol/index.ts';
import {
  defineRoute,
  type GatewayRoute,
  type RouteInput,
  type RouteText,
} from '../../api/route.ts';
import type { ListedModel } from '../catalogue.ts';
import type { Models } from '../models.ts';
import { completion, completionFrames, headOf, usageOf } from './answer.ts';
import { errorAnswer, errorBody } from './error.ts';
import { chatRequest } from './request.ts';
import {
  ChatAnswer,
  ChatBody,
  EmbeddingsAnswer,
  EmbeddingsBody,
  ModelAnswer,
  ModelsAnswer,
} from './schema.ts';

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};

export interface OpenaiRoutes {
  readonly routes: readonly GatewayRoute[];
  /** Answers under way: they are no tasks, so that nobody else counts them. */
  readonly running: number;
}

export function openaiRoutes({ models }: { readonly models: Models }): OpenaiRoutes {
  let running = 0;

  async function* counted<T>(chunks: AsyncGenerator<T>): AsyncGenerator<T> {
    running++;
    try {
      yield* chunks;
    } finally {
      running--;
    }
  }

  async function chat({ body, caller, call }: RouteInput<ChatBody>) {
    const target = models.resolve(caller.workspace, body.model, 'chat');
    const request = chatRequest(body);
    models.check(caller, target);
    const { leave, signal } = leaving(call);
    const chunks = counted(models.chat(target, request, { caller, signal }));
    const head = headOf(body.model);
    if (body.stream !== true) return { body: await unlessLeft(completion(head, chunks), signal) };
    // Until something is there, a failure still has a status of its own.
    const first = await unlessLeft(chunks.next(), signal);
    const includeUsage = body.stream_options?.include_usage === true;
    const frames = completionFrames(head, behind(first, chunks), {
      includeUsage,
      failure: errorBody,
      signal,
    });
    // Nobody may ever read the frames: their generator has then not begun, and would not end what it stands on.
    const end = () => {
      leave();
      void chunks.return(undefined).catch(() => undefined);
    };
    return { headers: SSE_HEADERS, chunks: leavable(frames, end) } satisfies RouteText;
  }

  const routes = [
    defineRoute({
      verb: 'POST',
      path: '/v1/chat/completions',
      scope: 'tasks:write',
      resource: 'model',
      summary: 'An answer of a model, as OpenAI has it',
      detail:
        'With `stream`, server-sent events. What would change the answer and cannot be honoured is refused with 400.',
      body: ChatBody,
      answers: {
        200: {
          description: 'The answer; with `stream`, its chunks',
          schema: ChatAnswer,
          alsoEvents: true,
        },
        400: { description: 'The request, or the name of the model, is wrong' },
        502: { description: 'The model failed' },
        504: { description: 'The model took too long' },
      },
      handle: chat,
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'POST',
      path: '/v1/embeddings',
      scope: 'tasks:write',
      resource: 'model',
      summary: 'Vectors of texts, as OpenAI has them',
      body: EmbeddingsBody,
      answers: {
        200: { description: 'One vector for each text, in order', schema: EmbeddingsAnswer },
        400: { description: 'The request, or the name of the model, is wrong' },
        502: { description: 'The model failed' },
        504: { description: 'The model took too long' },
      },
      async handle({ body, caller, call }) {
        const { model, input, encoding_format: format } = body;
        if (isAsked(body['dimensions'])) {
          const message = 'dimensions: this gateway cannot do this: leave it out';
          throw new A2AError('invalidParams', message);
        }
        const target = models.resolve(caller.workspace, model, 'embeddings');
        models.check(caller, target);
        const texts = typeof input === 'string' ? [input] : input;
        const { signal } = leaving(call);
        const embedding = models.embed(target, texts, { caller, signal });
        running++;
        const { vectors, used } = await unlessLeft(embedding, signal).finally(() => running--);
        const encode = format === 'base64' ? base64 : (vector: readonly number[]) => vector;
        const data = vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: encode(vector),
        }));
        const { prompt_tokens, total_tokens } = usageOf(used);
        return { body: { object: 'list', data, model, usage: { prompt_tokens, total_tokens } } };
      },
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'GET',
      path: '/v1/models',
      scope: 'tasks:read',
      summary: 'The models that can be used, as OpenAI lists them',
      answers: { 200: { description: 'The models', schema: ModelsAnswer } },
      async handle({ caller }) {
        return { body: { object: 'list', data: models.list(caller.workspace).map(shown) } };
      },
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'GET',
      path: '/v1/models/{model}',
      scope: 'tasks:read',
      resource: 'model',
      summary: 'One model, as OpenAI shows it',
      detail: 'A name with a slash is written with %2F.',
      answers: {
        200: { description: 'The model', schema: ModelAnswer },
        404: { description: 'There is no such model' },
      },
      async handle({ values, caller }) {
        const model = models.find(caller.workspace, values['model'] ?? '');
        if (model === undefined) throw new A2AError('notFound', 'There is no such model');
        return { body: shown(model) };
      },
      error: errorAnswer,
    }),
  ];
  return {
    routes,
    get running() {
      return running;
    },
  };
}

function shown({ name, createdAt = 0, owner }: ListedModel): object {
  return {
    id: name,
    object: 'model',
    created: Math.floor(createdAt / 1000),
    owned_by: owner,
  };
}

function isAsked(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function base64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

/** Aborted when the caller's request is, or by `leave`. */
function leaving({ signal }: Call): { readonly signal: AbortSignal; readonly leave: () => void } {
  const own = new AbortController();
  return {
    signal: signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]),
    leave: () => own.abort(new Error('the client left')),
  };
}

/** That a client leaves is no fault of ours, and nobody is there to read of it. */
async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) throw new A2AError('unavailable', 'The client left');
    throw error;
  }
}

/** What was taken from the source already, and then the rest of it. */
async function* behind<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done === true) return;
  try {
    yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** The same, except that who leaves does not wait for what is under way: `end` ends that at once. */
function leavable<T>(source: AsyncGenerator<T>, end: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => source.next(),
      async return() {
        end();
        await source.return(undefined).catch(() => undefined);
        return { done: true, value: undefined };
      },
    }),
  };
}
