/**
 * Anthropic's Messages API: `/v1/messages` and `/v1/messages/count_tokens`. A provider of the type `anthropic` gets the
 * client's own request. For other providers, the request and the answer are converted.
 */
import * as z from 'zod';
import { defineRoute, type GatewayRoute, type RouteInput } from '../../api/route.ts';
import { tokenCounter } from '../token-count.ts';
import { prepared } from '../vendor-api/own-providers.ts';
import { MODEL_FAILURES, type VendorRoutesOptions } from '../vendor-api/vendor-api.ts';
import { namedEvent } from '../vendor-api/answer.ts';
import { headOf, messageFrames, completeMessage } from './answer.ts';
import { errorAnswer, errorBody, newRequestId } from './error.ts';
import { ANTHROPIC, countRelay, messagesRelay } from './relay.ts';
import { inputOf, messagesRequest } from './request.ts';
import { CountAnswer, CountBody, MessageAnswer, MessagesBody } from './schema.ts';

const Query = z.object({ beta: z.string().optional() });
type Query = z.infer<typeof Query>;

export function anthropicRoutes({ models, api }: VendorRoutesOptions): readonly GatewayRoute[] {
  async function messages({ body, ...input }: RouteInput<MessagesBody, Query>) {
    const named = await models.resolve(input.caller.workspace, body.model, 'chat');
    const stream = body.stream === true;
    const { target, request } = prepared(
      named,
      { type: ANTHROPIC, stream },
      {
        exact: () => messagesRequest(body),
        rough: () => ({ ...inputOf(body, { strict: false }), maxOutputTokens: body.max_tokens }),
      },
    );
    const requestId = newRequestId();
    const head = () => headOf(body, tokenCounter(target.candidates).prompt(request));
    const answer = await api.answer(input, {
      model: target,
      request,
      stream,
      relay: messagesRelay(body, input),
      whole: (chunks) => completeMessage(head(), chunks),
      frames: (chunks) => messageFrames(head(), chunks),
      failure: (error) => namedEvent(errorBody(error, requestId)),
    });
    return { ...answer, headers: { ...answer.headers, 'request-id': requestId } };
  }

  async function countTokens({ body, ...input }: RouteInput<CountBody, Query>) {
    const target = await models.resolve(input.caller.workspace, body.model, 'chat');
    const tokens = await api.countTokens(input, {
      target,
      type: ANTHROPIC,
      request: (strict) => inputOf(body, { strict }),
      relay: countRelay(body, input),
    });
    return { headers: { 'request-id': newRequestId() }, body: { input_tokens: tokens } };
  }

  return [
    defineRoute({
      verb: 'POST',
      path: '/v1/messages',
      scope: 'tasks:write',
      resource: 'model',
      summary: "Answer of a model, compatible with Anthropic's Messages API",
      detail:
        'With `stream`, the response is server-sent events. A provider of the type `anthropic` gets the request unchanged. For other providers, fields that would change the answer and that they do not support are rejected with 400.',
      query: Query,
      body: MessagesBody,
      answers: {
        200: {
          description: 'The message. With `stream`, the events of the message',
          schema: MessageAnswer,
          alsoEvents: true,
        },
        ...MODEL_FAILURES,
        529: { description: 'The model is overloaded' },
      },
      handle: messages,
      error: errorAnswer,
    }),
    defineRoute({
      verb: 'POST',
      path: '/v1/messages/count_tokens',
      scope: 'tasks:write',
      resource: 'model',
      summary: "Number of a request's input tokens, compatible with Anthropic",
      detail:
        'A provider of the type `anthropic` counts the tokens. For other providers, the number is an estimate.',
      query: Query,
      body: CountBody,
      answers: { 200: { description: 'The number of tokens', schema: CountAnswer } },
      handle: countTokens,
      error: errorAnswer,
    }),
  ];
}
