/**
 * The OpenAI-compatible API: `/v1/chat/completions`, `/v1/embeddings` and `/v1/models`. Requests create no task. Only
 * their usage is stored.
 */
import * as z from 'zod';
import type { A2AError } from '../../../protocol/index.ts';
import type { FailedRequest } from '../../../http/index.ts';
import {
  defineRoute,
  type GatewayRoute,
  type RouteAnswer,
  type RouteInput,
} from '../../api/route.ts';
import { anthropicErrors, isAnthropicClient } from '../anthropic/error.ts';
import {
  ModelInfo,
  modelInfo,
  ModelInfoPage,
  modelInfoPage,
  ModelsQuery,
} from '../anthropic/model-list.ts';
import type { ListedModel } from '../catalogue.ts';
import { MODEL_ROUTE, modelAnswers, streamAnswers } from '../vendor-api/route.ts';
import type { VendorRoutesOptions } from '../vendor-api/vendor-api.ts';
import { completion, completionFrames, event, headOf } from './answer.ts';
import { errorAnswer, errorBody } from './error.ts';
import { chatRelay } from './relay.ts';
import { chatRequest, hasTools } from './request.ts';
import {
  ChatAnswer,
  ChatBody,
  EmbeddingsAnswer,
  EmbeddingsBody,
  ModelObject,
  ModelsAnswer,
} from './schema.ts';

export function openaiRoutes({ models, api }: VendorRoutesOptions): readonly GatewayRoute[] {
  function chat({ body, ...input }: RouteInput<ChatBody>) {
    const head = headOf(body.model);
    const includeUsage = body.stream_options?.include_usage === true;
    return api.answer(input, {
      model: body.model,
      request: (strict) => chatRequest(body, { strict }),
      hasTools: hasTools(body),
      relay: chatRelay(body),
      whole: (chunks) => completion(head, chunks),
      frames: (chunks) => completionFrames(head, chunks, { includeUsage }),
      failure: (error) => event(errorBody(error)),
    });
  }

  const common = { ...MODEL_ROUTE, error: errorAnswer };
  const listing = { verb: 'GET', scope: 'tasks:read', error: modelsError } as const;
  return [
    defineRoute({
      ...common,
      path: '/v1/chat/completions',
      summary: 'Chat completion, compatible with OpenAI',
      detail:
        'With `stream`, the response is server-sent events. Unsupported fields that would change the answer are rejected with 400.',
      body: ChatBody,
      answers: streamAnswers('The answer. With `stream`, the chunks of the answer', ChatAnswer),
      handle: chat,
    }),
    defineRoute({
      ...common,
      path: '/v1/embeddings',
      summary: 'Embeddings of texts, compatible with OpenAI',
      body: EmbeddingsBody,
      answers: modelAnswers('One vector for each text, in order', EmbeddingsAnswer),
      async handle({ body, caller, call }) {
        const { model, input, encoding_format: format, dimensions } = body;
        const target = await models.resolve(caller.workspace, model, 'embeddings');
        const texts = typeof input === 'string' ? [input] : input;
        const { vectors, used } = await api.run({ call }, (signal) =>
          models.embed(target, texts, { caller, signal, dimensions: dimensions ?? undefined }),
        );
        const encode = format === 'base64' ? base64 : (vector: readonly number[]) => vector;
        const data = vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: encode(vector),
        }));
        const { inputTokens: prompt_tokens, outputTokens } = used;
        const usage = { prompt_tokens, total_tokens: prompt_tokens + outputTokens };
        return { body: { object: 'list', data, model, usage } };
      },
    }),
    defineRoute({
      ...listing,
      path: '/v1/models',
      summary: 'List the available models, compatible with OpenAI and Anthropic',
      detail:
        "With the header `anthropic-version`, the response has Anthropic's format. Only this format has pages.",
      query: ModelsQuery,
      answers: {
        200: { description: 'The models', schema: z.union([ModelsAnswer, ModelInfoPage]) },
      },
      async handle({ caller, query, ...input }) {
        const list = await models.list(caller.workspace);
        if (isAnthropicClient(input)) return { body: modelInfoPage(list, query) };
        return { body: { object: 'list', data: list.map(modelObject) } };
      },
    }),
    defineRoute({
      ...listing,
      path: '/v1/models/{model}',
      resource: 'model',
      summary: 'Get a model, compatible with OpenAI and Anthropic',
      detail: 'Write a slash in the name as %2F.',
      answers: { 200: { description: 'The model', schema: z.union([ModelObject, ModelInfo]) } },
      async handle({ values, caller, ...input }) {
        const model = await models.find(caller.workspace, values['model'] ?? '');
        return { body: isAnthropicClient(input) ? modelInfo(model) : modelObject(model) };
      },
    }),
  ];
}

/**
 * Returns an error in the client's format. The list of models has the same path in the APIs of OpenAI and Anthropic.
 */
function modelsError(error: A2AError, request: FailedRequest): RouteAnswer {
  return isAnthropicClient(request) ? anthropicErrors.error(error, request) : errorAnswer(error);
}

function modelObject({ name, createdAt = 0, owner }: ListedModel): object {
  return { id: name, object: 'model', created: Math.floor(createdAt / 1000), owned_by: owner };
}

function base64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}
