/**
 * Relays a request of the Responses API to OpenAI. The gateway stores responses itself, and tells OpenAI not to store
 * them. Therefore each request contains the whole conversation, and the gateway's id replaces OpenAI's id of the
 * response.
 */
import { isObject } from '../../../../base/index.ts';
import type { FinishReason, Usage } from '../../../../agent/index.ts';
import type { Relay, RelayReading } from '../../relay/relay.ts';
import { fieldIn } from '../../vendor-api/answer.ts';
import { countsIn, RESPONSES } from '../usage.ts';
import type { ResponseObject } from './answer.ts';
import { decodeCarried, isCarried } from '../../vendor-api/carried.ts';
import { Item, ReasoningItem, type ResponsesBody } from './schema.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

export interface ResponsesRelayOptions {
  readonly items: readonly Item[];
  /** The gateway's response. Its `id`, `model`, `store` and `previous_response_id` replace those of the vendor. */
  readonly response: ResponseObject;
  /** Called when the response has ended, with the response that the client gets. Not called if the response failed. */
  readonly onResponse: (whole: ResponseObject) => void;
}

export function responsesRelay(body: ResponsesBody, options: ResponsesRelayOptions): Relay {
  const { items, response, onResponse } = options;
  const { id, model, store, previous_response_id: previous } = response;

  function adopt(theirs: Record<string, unknown>): void {
    Object.assign(theirs, { id, model, store, previous_response_id: previous });
  }

  function ended(theirs: Record<string, unknown>): RelayReading {
    adopt(theirs);
    const { output: given, status = 'completed', usage } = theirs;
    if (status === 'failed') return { failed: true };
    const output = (Array.isArray(given) ? given : []).flatMap(
      (item) => Item.safeParse(item).data ?? [],
    );
    onResponse({ ...response, ...theirs, status: String(status), output });
    return { changed: true, usage: usageIn(usage), end: reasonOf(theirs) };
  }

  return {
    accepts: (type) => type === 'openai',
    stream: body.stream === true,
    path: () => '/responses',
    body(name, maxOutputTokens) {
      const { previous_response_id: _, include, ...rest } = body;
      return {
        ...rest,
        model: name,
        input: items.flatMap(forOpenai),
        store: false,
        // `service_tier` is removed, because a tier may cost more than the price that the gateway counts.
        service_tier: undefined,
        include: [...new Set([...(include ?? []), ENCRYPTED])],
        ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
      };
    },
    watched:
      /"type":\s*"(?:response\.(?:created|in_progress|queued|completed|incomplete|failed)|error)"/,
    read(event) {
      if (event['object'] === 'response') return ended(event);
      const { type, response: theirs } = event;
      if (type === 'error' || type === 'response.failed') return { failed: true };
      if (!isObject(theirs)) return {};
      if (type === 'response.completed' || type === 'response.incomplete') return ended(theirs);
      adopt(theirs);
      return { changed: true };
    },
  };
}

/**
 * Returns the item in the form that OpenAI accepts. Removes a reasoning item that contains only the data of other
 * vendors. If the gateway encoded OpenAI's own data in the item, restores this data.
 */
function forOpenai(item: Item): readonly Item[] {
  const { encrypted_content: encrypted } = ReasoningItem.safeParse(item).data ?? {};
  if (!isCarried(encrypted)) return [item];
  const own = decodeCarried(encrypted)?.provider['openai'];
  const content = fieldIn(own, 'reasoningEncryptedContent');
  return typeof content === 'string' ? [{ ...item, encrypted_content: content }] : [];
}

function reasonOf({ status, incomplete_details: details }: Record<string, unknown>): FinishReason {
  if (status !== 'incomplete') return 'stop';
  return fieldIn(details, 'reason') === 'content_filter' ? 'content-filter' : 'length';
}

function usageIn(usage: unknown): Usage | undefined {
  const { inputTokens, outputTokens, ...counts } = countsIn(usage, RESPONSES);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return { inputTokens, outputTokens, ...counts };
}
