/**
 * OpenAI's Responses API: `/v1/responses`. A response is stored as a task. It is not stored if `store` is false, if the
 * response fails, or if it is too large.
 */
import { A2AError } from '../../../../protocol/index.ts';
import { defineRoute, type GatewayRoute, type RouteInput } from '../../../api/route.ts';
import { MODEL_ROUTE, streamAnswers } from '../../vendor-api/route.ts';
import type { VendorApi } from '../../vendor-api/vendor-api.ts';
import { errorAnswer } from '../error.ts';
import { failedFrame, responseFrames, responseOf, wholeResponse } from './answer.ts';
import { responsesRelay } from './relay.ts';
import { customTools, hasTools, itemsOf, responsesRequest } from './request.ts';
import { DeletedResponse, ResponsesAnswer, ResponsesBody } from './schema.ts';
import { earlierItems, removeStored, store, stored } from './stored.ts';

const NOT_STORED = 'There is no such stored response';

export function responsesRoutes({ api }: { readonly api: VendorApi }): readonly GatewayRoute[] {
  async function respond({ body, ...input }: RouteInput<ResponsesBody>) {
    const previous = body.previous_response_id ?? undefined;
    const earlier = await earlierItems(input, previous);
    const items = itemsOf(body);
    const response = responseOf(body);
    const save = async (whole: typeof response): Promise<void> => {
      if (body.store !== false) await store(input, whole, items, previous);
    };
    let saving: Promise<void> | undefined;
    const all = [...earlier, ...items];
    const relay = responsesRelay(body, {
      items: all,
      response,
      onResponse(whole) {
        saving = save(whole);
        // This prevents an unhandled rejection. The error is not lost: `pending` returns the same promise.
        saving.catch(() => undefined);
      },
    });
    const options = { response, customTools: customTools(body), save };
    return api.answer(input, {
      model: body.model,
      request: (strict) => responsesRequest(body, { earlier, strict }),
      hasTools: hasTools(body, all),
      relay,
      whole: (chunks) => wholeResponse(chunks, options),
      frames: (chunks) => responseFrames(chunks, options),
      failure: (error) => failedFrame(response, error),
      pending: () => saving,
    });
  }

  const one = {
    path: '/v1/responses/{response}',
    resource: 'task',
    error: errorAnswer,
  } as const;
  return [
    defineRoute({
      ...MODEL_ROUTE,
      path: '/v1/responses',
      summary: "A response of a model, compatible with OpenAI's Responses API",
      detail:
        'With `stream`, the response is server-sent events. The response is stored in the workspace unless `store` is ' +
        'false, so that `previous_response_id` can continue the conversation.',
      body: ResponsesBody,
      answers: streamAnswers('The response. With `stream`, its events', ResponsesAnswer),
      handle: respond,
      error: errorAnswer,
    }),
    defineRoute({
      ...one,
      verb: 'GET',
      scope: 'tasks:read',
      summary: 'Get a stored response',
      answers: { 200: { description: 'The response', schema: ResponsesAnswer } },
      async handle({ values, ...input }) {
        const found = await stored(input, values['response'] ?? '');
        if (!found) throw new A2AError('notFound', NOT_STORED);
        return { body: found.response };
      },
    }),
    defineRoute({
      ...one,
      verb: 'DELETE',
      scope: 'tasks:write',
      summary: 'Delete a stored response',
      detail:
        'The conversation cannot be continued from this response or from later ones. The other responses stay stored.',
      answers: { 200: { description: 'The response was deleted', schema: DeletedResponse } },
      async handle({ values, ...input }) {
        const { response: id = '' } = values;
        if (!(await removeStored(input, id))) throw new A2AError('notFound', NOT_STORED);
        return { body: { id, object: 'response', deleted: true } };
      },
    }),
  ];
}
