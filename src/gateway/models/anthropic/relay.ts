/**
 * Relays a request to Anthropic, or to another provider with Anthropic's API. The provider gets the client's own
 * request with few changes, such as the provider's name for the model. In the answer, only the name of the model and
 * errors are changed.
 */
import { isObject } from '../../../base/index.ts';
import type { FinishReason, Usage } from '../../../agent/index.ts';
import type { RouteInput } from '../../api/route.ts';
import type { Relay } from '../relay/relay.ts';
import type { CountExchange } from '../vendor-api/vendor-api.ts';
import type { CountBody, InputMessage, MessagesBody } from './schema.ts';
import { isCarried } from '../vendor-api/carried.ts';

/** The type of the providers with Anthropic's API. */
const ANTHROPIC = 'anthropic';

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
};
/** Anthropic's minimum for `budget_tokens`, the number of tokens for thoughts. */
const MIN_THINKING = 1024;
/** Headers of the client's request that are forwarded to the provider, unless they exceed MAX_HEADER_CHARS. */
const HEADERS = ['anthropic-version', 'anthropic-beta'];
const MAX_HEADER_CHARS = 4096;

/** The headers and the query of a request. Clients that use beta features send `beta=true` in the query. */
type RelayInput = Pick<
  RouteInput<unknown, { readonly beta?: string | undefined }>,
  'header' | 'query'
>;

/** Returns the relay of one request to `/v1/messages`. */
export function messagesRelay(body: MessagesBody, input: RelayInput): Relay {
  // `speed` is removed, because a fast answer costs more than the price that the gateway counts. `service_tier` is
  // kept, because Anthropic's tiers have no separate prices.
  const { speed: _, ...fields }: MessagesBody & { readonly speed?: unknown } = body;
  let counts: Record<string, number> = {};
  let reason: FinishReason = 'other';
  function count(usage: unknown): Usage {
    counts = { ...counts, ...numbersIn(usage) };
    return usageOf(counts);
  }

  return {
    accepts: (type) => type === ANTHROPIC,
    stream: body.stream === true,
    path: () => pathOf('/messages', input),
    headers: headersOf(input),
    body: (model, maxTokens = body.max_tokens) => ({
      ...fields,
      ...thinkingWithin(body, maxTokens),
      model,
      max_tokens: maxTokens,
      messages: withoutForeign(body.messages),
    }),
    watched: /"type":\s*"(?:message_start|message_delta|message_stop|error)"/,
    read(event) {
      const { type, message } = event;
      if (type === 'error') return { failed: true };
      if (type === 'message_stop') return { end: reason };
      if (type === 'message_start' && isObject(message)) {
        message['model'] = body.model;
        return { usage: count(message['usage']), changed: true };
      }
      if (type === 'message_delta') {
        if (isObject(event['delta'])) reason = reasonOf(event['delta']['stop_reason']);
        return { usage: count(event['usage']) };
      }
      if (type !== 'message') return {};
      event['model'] = body.model;
      return { usage: count(event['usage']), end: reasonOf(event['stop_reason']), changed: true };
    },
  };
}

/** Returns the relay of a request to `/v1/messages/count_tokens`. Anthropic does not charge for it. */
export function countRelay(body: CountBody, input: RelayInput): CountExchange['relay'] {
  return {
    accepts: (type) => type === ANTHROPIC,
    path: () => pathOf('/messages/count_tokens', input),
    headers: headersOf(input),
    body: (model) => ({ ...body, model, messages: withoutForeign(body.messages) }),
    countField: 'input_tokens',
  };
}

function pathOf(path: string, { query }: RelayInput): string {
  return query.beta === 'true' ? `${path}?beta=true` : path;
}

function headersOf(input: RelayInput): Record<string, string> {
  const sent = HEADERS.flatMap((name) => {
    const value = input.header(name);
    const isUsable = value !== undefined && value !== '' && value.length <= MAX_HEADER_CHARS;
    return isUsable ? [[name, value] as const] : [];
  });
  return Object.fromEntries(sent);
}

/**
 * Lowers `budget_tokens` if `max_tokens` was lowered, because Anthropic requires that `budget_tokens` is less than
 * `max_tokens`. Returns the changed `thinking` field, or no field if the client's value can stay. If `budget_tokens`
 * would be below Anthropic's minimum, thinking is disabled.
 */
function thinkingWithin({ thinking, max_tokens: asked }: MessagesBody, maxTokens: number): object {
  const budget = thinking?.budget_tokens ?? 0;
  if (maxTokens >= asked || budget < maxTokens) return {};
  const lowered = maxTokens - 1;
  if (lowered < MIN_THINKING) return { thinking: { type: 'disabled' } };
  return { thinking: { ...thinking, budget_tokens: lowered } };
}

/** Returns the messages without thoughts whose signatures Anthropic refuses, such as those of other vendors' models. */
function withoutForeign(messages: readonly InputMessage[]): readonly InputMessage[] {
  return messages.flatMap((message) => {
    const { role, content } = message;
    if (role !== 'assistant' || !Array.isArray(content)) return [message];
    const own = content.filter(({ type, signature, data }) => {
      if (type === 'thinking') return !isForeign(signature);
      return type !== 'redacted_thinking' || !isForeign(data);
    });
    if (own.length === content.length) return [message];
    // Anthropic refuses an empty message, so such a message is left out. Then two user messages may follow each other,
    // which Anthropic joins.
    return own.length === 0 ? [] : [{ ...message, content: own }];
  });
}

/**
 * Returns whether Anthropic refuses the signature: it is empty, or the gateway created it when it converted an answer
 * (answer.ts). Anthropic's own signatures are passed on as they are.
 */
function isForeign(signature: unknown): boolean {
  return typeof signature === 'string' && (signature === '' || isCarried(signature));
}

function reasonOf(stopReason: unknown): FinishReason {
  return (typeof stopReason === 'string' ? REASONS[stopReason] : undefined) ?? 'other';
}

function numbersIn(value: unknown): Record<string, number> {
  if (!isObject(value)) return {};
  const numbers = Object.entries(value).filter(
    (entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && Number(entry[1]) >= 0,
  );
  return Object.fromEntries(numbers);
}

function usageOf(counts: Readonly<Record<string, number>>): Usage {
  const { input_tokens: input = 0, output_tokens: outputTokens = 0 } = counts;
  const { cache_read_input_tokens: cachedTokens = 0, cache_creation_input_tokens: created = 0 } =
    counts;
  return { inputTokens: input + cachedTokens + created, outputTokens, cachedTokens };
}
