/**
 * The OpenAI-compatible API: `/v1/chat/completions`, `/v1/embeddings` and `/v1/models`. Requests create no task. Only
 * their usage is stored.
 */
import { A2AError, type Call } from '../../../protocol/index.ts';
import type { RouteText } from '../../../http/index.ts';
import { defineRoute, type GatewayRoute, type RouteInput } from '../../api/route.ts';
import type { ListedModel } from '../catalogue.ts';
import type { Models } from '../models.ts';
import { completion, completionFrames, headOf, openaiUsage } from './answer.ts';
import { errorAnswer, errorBody } from './error.ts';
import { chatRequest } from './request.ts';
import {
  ChatAnswer,
  ChatBody,
  EmbeddingsAnswer,
  EmbeddingsBody,
  ModelObject,
  ModelsAnswer,
} from './schema.ts';

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};

const UPSTREAM = {
  502: { description: 'The model failed' },
  504: { description: 'The model did not answer in time' },
};

export interface OpenaiRoutes {
  readonly routes: readonly GatewayRoute[];
  /** The number of answers in progress. They are not tasks, so the task handler does not count them. */
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
    const { leave, signal } = abortable(call);
    const chunks = counted(models.chat(target, request, { caller, signal }));
    const head = headOf(body.model);
    if (body.stream !== true)
      return { body: await unlessDisconnected(completion(head, chunks), signal) };
    // Wait for the first chunk. A failure before the first chunk can still set the HTTP status.
    const first = await unlessDisconnected(chunks.next(), signal);
    const includeUsage = body.stream_options?.include_usage === true;
    const frames = completionFrames(head, startingWith(first, chunks), {
      includeUsage,
      failure: errorBody,
      signal,
    });
    // If the frames are never read, their generator has not started and cannot end the chunks. So end them here.
    const end = () => {
      leave();
      void chunks.return(undefined).catch(() => undefined);
    };
    return { headers: SSE_HEADERS, chunks: stoppable(frames, end) } satisfies RouteText;
  }

  const routes = [
    defineRoute({
      verb: 'POST',
      path: '/v1/chat/completions',
      scope: 'tasks:write',
      resource: 'model',
      summary: 'Chat completion, compatible with OpenAI',
      detail:
        'With `stream`, the response is server-sent events. Unsupported fields that would change the answer are rejected with 400.',
      body: ChatBody,
      answers: {
        200: {
          description: 'The answer. With `stream`, the chunks of the answer',
          schema: ChatAnswer,
          alsoEvents: true,
        },
        ...UPSTREAM,
      },
      handle: chat,
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'POST',
      path: '/v1/embeddings',
      scope: 'tasks:write',
      resource: 'model',
      summary: 'Embeddings of texts, compatible with OpenAI',
      body: EmbeddingsBody,
      answers: {
        200: { description: 'One vector for each text, in order', schema: EmbeddingsAnswer },
        ...UPSTREAM,
      },
      async handle({ body, caller, call }) {
        const { model, input, encoding_format: format } = body;
        if (body['dimensions'] != null) {
          const message = 'dimensions: not supported by this gateway: leave it out';
          throw new A2AError('invalidParams', message);
        }
        const target = models.resolve(caller.workspace, model, 'embeddings');
        models.check(caller, target);
        const texts = typeof input === 'string' ? [input] : input;
        const { signal } = abortable(call);
        const embedding = models.embed(target, texts, { caller, signal });
        running++;
        const { vectors, used } = await unlessDisconnected(embedding, signal).finally(
          () => running--,
        );
        const encode = format === 'base64' ? base64 : (vector: readonly number[]) => vector;
        const data = vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: encode(vector),
        }));
        const { prompt_tokens, total_tokens } = openaiUsage(used);
        return { body: { object: 'list', data, model, usage: { prompt_tokens, total_tokens } } };
      },
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'GET',
      path: '/v1/models',
      scope: 'tasks:read',
      summary: 'List the available models, compatible with OpenAI',
      answers: { 200: { description: 'The models', schema: ModelsAnswer } },
      async handle({ caller }) {
        return { body: { object: 'list', data: models.list(caller.workspace).map(modelObject) } };
      },
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'GET',
      path: '/v1/models/{model}',
      scope: 'tasks:read',
      resource: 'model',
      summary: 'Get a model, compatible with OpenAI',
      detail: 'Write a slash in the name as %2F.',
      answers: { 200: { description: 'The model', schema: ModelObject } },
      async handle({ values, caller }) {
        const model = models.find(caller.workspace, values['model'] ?? '');
        if (model === undefined) throw new A2AError('notFound', 'Unknown model');
        return { body: modelObject(model) };
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

function modelObject({ name, createdAt = 0, owner }: ListedModel): object {
  return {
    id: name,
    object: 'model',
    created: Math.floor(createdAt / 1000),
    owned_by: owner,
  };
}

function base64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

/** Returns a signal that is aborted when the caller's request is aborted, or by `leave`. */
function abortable({ signal }: Call): { readonly signal: AbortSignal; readonly leave: () => void } {
  const own = new AbortController();
  return {
    signal: signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]),
    leave: () => own.abort(new Error('the client has disconnected')),
  };
}

/**
 * Returns the result of `work`. If it fails because the client has disconnected, throws `unavailable`, because this is
 * not an internal error.
 */
async function unlessDisconnected<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) throw new A2AError('unavailable', 'The client has disconnected');
    throw error;
  }
}

/** Yields the item that was already read from the source, then the rest of the source. */
async function* startingWith<T>(
  first: IteratorResult<T>,
  rest: AsyncGenerator<T>,
): AsyncGenerator<T> {
  if (first.done === true) return;
  try {
    yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/**
 * Returns the items of the source. If the reader stops early, calls `end`, which stops the source at once. Otherwise
 * the source would continue until its next item.
 */
function stoppable<T>(source: AsyncGenerator<T>, end: () => void): AsyncIterable<T> {
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
