/**
 * Google's Gemini API: `/v1beta/models`. A provider of the type `google` gets the client's own request. For other
 * providers, the request and the answer are converted (vendor-api/vendor-api.ts). They are also converted if the client
 * requests a stream and the model does not support streaming.
 */
import * as z from 'zod';
import { defineRoute, type GatewayRoute, type RouteInput } from '../../api/route.ts';
import { MODEL_ROUTE, modelAnswers, streamAnswers } from '../vendor-api/route.ts';
import type { VendorRoutesOptions } from '../vendor-api/vendor-api.ts';
import { answers, completeAnswer, headOf } from './answer.ts';
import { errorAnswer, errorBody } from './error.ts';
import {
  ModelResource,
  modelPage,
  modelResource,
  ModelResources,
  ModelsQuery,
} from './model-list.ts';
import { countRelay, generateRelay } from './relay.ts';
import { checkRequest, generateRequest, hasTools, inputOf } from './request.ts';
import { CountAnswer, CountBody, GenerateAnswer, GenerateBody } from './schema.ts';
import { answersIn, arrayFormat, formatted, sseFormat } from './stream-format.ts';

const StreamQuery = z.object({ alt: z.string().optional() });

export function googleRoutes({ models, api }: VendorRoutesOptions): readonly GatewayRoute[] {
  /**
   * Answers a request. `alt` is the format of a stream: `sse` for server-sent events, any other value for a JSON array.
   * If `alt` is undefined, the answer is not a stream.
   */
  async function generate(
    { body, ...input }: Omit<RouteInput<GenerateBody, unknown>, 'query'>,
    alt?: string,
  ) {
    checkRequest(body);
    const model = input.values['model'] ?? '';
    const stream = alt !== undefined;
    const isArray = stream && alt !== 'sse';
    const format = isArray ? arrayFormat() : sseFormat();
    const thoughts = body.generationConfig?.thinkingConfig?.includeThoughts === true;
    const head = headOf(model, thoughts);
    return api.answer(input, {
      model,
      request: (strict) => generateRequest(body, { strict }),
      hasTools: hasTools(body),
      relay: generateRelay({ model, body, stream }),
      whole: (chunks) => completeAnswer(head, chunks),
      frames: (chunks) => formatted(answers(head, chunks), format),
      failure: (error) => format.item(errorBody(error)) + format.end(),
      passed: isArray ? (texts) => formatted(answersIn(texts), format) : undefined,
      streamHeaders: format.headers,
    });
  }

  async function countTokens({ body, ...input }: RouteInput<CountBody>) {
    const counted = body.generateContentRequest ?? body;
    checkRequest(counted);
    const totalTokens = await api.countTokens(input, {
      model: input.values['model'] ?? '',
      request: (strict) => inputOf(counted, { strict }),
      relay: countRelay(body),
    });
    return { body: { totalTokens } };
  }

  const common = { ...MODEL_ROUTE, error: errorAnswer };
  const listing = { verb: 'GET', scope: 'tasks:read', error: errorAnswer } as const;
  return [
    defineRoute({
      ...common,
      path: '/v1beta/models/{model}:generateContent',
      summary: "Answer of a model, compatible with Google's Gemini API",
      detail:
        "A provider of the type `google` gets the client's own request with few changes: the gateway may limit `maxOutputTokens`, and removes `serviceTier` and the thoughts of other vendors' models. For other providers, the request is converted. A field that would change the answer, and that the provider does not support, is rejected with 400. Write a slash in the name of the model as %2F.",
      body: GenerateBody,
      answers: modelAnswers('The answer', GenerateAnswer),
      handle: (input) => generate(input),
    }),
    defineRoute({
      ...common,
      path: '/v1beta/models/{model}:streamGenerateContent',
      summary: "Streamed answer of a model, compatible with Google's Gemini API",
      detail:
        'With `alt=sse`, the response is server-sent events. Otherwise it is a JSON array whose elements are sent one after another.',
      query: StreamQuery,
      body: GenerateBody,
      answers: streamAnswers('The parts of the answer', z.array(GenerateAnswer)),
      handle: ({ query, ...input }) => generate(input, query.alt ?? 'json'),
    }),
    defineRoute({
      ...common,
      path: '/v1beta/models/{model}:countTokens',
      summary: "Number of a request's input tokens, compatible with Google",
      detail:
        'A provider of the type `google` counts the tokens. For other providers, the number is an estimate.',
      body: CountBody,
      answers: { 200: { description: 'The number of tokens', schema: CountAnswer } },
      handle: countTokens,
    }),
    defineRoute({
      ...listing,
      path: '/v1beta/models',
      summary: 'List the available models, compatible with Google',
      query: ModelsQuery,
      answers: { 200: { description: 'The models', schema: ModelResources } },
      handle: async ({ caller, query }) => ({
        body: modelPage(await models.list(caller.workspace), query),
      }),
    }),
    defineRoute({
      ...listing,
      path: '/v1beta/models/{model}',
      resource: 'model',
      summary: 'Get a model, compatible with Google',
      answers: { 200: { description: 'The model', schema: ModelResource } },
      async handle({ values, caller }) {
        const model = await models.find(caller.workspace, values['model'] ?? '');
        return { body: modelResource(model) };
      },
    }),
  ];
}
