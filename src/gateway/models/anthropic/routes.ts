/**
 * Anthropic's Messages API: `/v1/messages` and `/v1/messages/count_tokens`. A provider of the type `anthropic` gets the
 * client's own request. For other providers, the request and the answer are converted (vendor-api/vendor-api.ts). They
 * are also converted if the client requests a stream and the model does not support streaming.
 */
import * as z from 'zod';
import { defineRoute, type GatewayRoute, type RouteInput } from '../../api/route.ts';
import { tokenCounter } from '../token-count.ts';
import { MODEL_ROUTE, streamAnswers } from '../vendor-api/route.ts';
import type { Prepared, VendorApi } from '../vendor-api/vendor-api.ts';
import { namedEvent } from '../vendor-api/answer.ts';
import { headOf, messageFrames, completeMessage } from './answer.ts';
import { errorAnswer, errorBody, newRequestId } from './error.ts';
import { countRelay, messagesRelay } from './relay.ts';
import { hasTools, inputOf, messagesRequest } from './request.ts';
import { CountAnswer, CountBody, MessageAnswer, MessagesBody } from './schema.ts';

const Query = z.object({ beta: z.string().optional() });
type Query = z.infer<typeof Query>;

export function anthropicRoutes({ api }: { readonly api: VendorApi }): readonly GatewayRoute[] {
  async function messages({ body, ...input }: RouteInput<MessagesBody, Query>) {
    const requestId = newRequestId();
    const head = ({ target, request }: Prepared) =>
      headOf(body, tokenCounter(target.candidates).prompt(request));
    const answer = await api.answer(input, {
      model: body.model,
      request: (strict) => messagesRequest(body, { strict }),
      hasTools: hasTools(body),
      relay: messagesRelay(body, input),
      whole: (chunks, asked) => completeMessage(head(asked), chunks),
      frames: (chunks, asked) => messageFrames(head(asked), chunks),
      failure: (error) => namedEvent(errorBody(error, requestId)),
    });
    return { ...answer, headers: { ...answer.headers, 'request-id': requestId } };
  }

  async function countTokens({ body, ...input }: RouteInput<CountBody, Query>) {
    const tokens = await api.countTokens(input, {
      model: body.model,
      request: (strict) => inputOf(body, { strict }),
      relay: countRelay(body, input),
    });
    return { headers: { 'request-id': newRequestId() }, body: { input_tokens: tokens } };
  }

  const common = { ...MODEL_ROUTE, query: Query, error: errorAnswer };
  return [
    defineRoute({
      ...common,
      path: '/v1/messages',
      summary: "Answer of a model, compatible with Anthropic's Messages API",
      detail:
        "With `stream`, the response is server-sent events. A provider of the type `anthropic` gets the client's own request with few changes: the gateway may limit `max_tokens`, and removes `speed` and the thoughts of other vendors' models. For other providers, the request is converted. A field that would change the answer, and that the provider does not support, is rejected with 400.",
      body: MessagesBody,
      answers: {
        ...streamAnswers('The message. With `stream`, the events of the message', MessageAnswer),
        529: { description: 'The model is overloaded' },
      },
      handle: messages,
    }),
    defineRoute({
      ...common,
      path: '/v1/messages/count_tokens',
      summary: "Number of a request's input tokens, compatible with Anthropic",
      detail:
        'A provider of the type `anthropic` counts the tokens. For other providers, the number is an estimate.',
      body: CountBody,
      answers: { 200: { description: 'The number of tokens', schema: CountAnswer } },
      handle: countTokens,
    }),
  ];
}
