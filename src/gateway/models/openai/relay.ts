/**
 * Relays a chat request to a provider with OpenAI's chat API. The provider gets the client's own request with few
 * changes. So fields that the gateway does not support still have an effect. The name of the model is replaced in the
 * request and in the answer.
 */
import { isObject } from '../../../base/index.ts';
import type { FinishReason } from '../../../agent/index.ts';
import type { Relay } from '../relay/relay.ts';
import { fieldIn } from '../vendor-api/answer.ts';
import { isSet } from '../vendor-api/request.ts';
import type { ChatBody } from './schema.ts';
import { CHAT, countsIn } from './usage.ts';

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
};

export function chatRelay(body: ChatBody): Relay {
  const { model: name, stream_options: options } = body;
  const stream = body.stream === true;
  const includeUsage = options?.include_usage === true;
  const replacement = `"model":${JSON.stringify(name)}`;
  return {
    // Providers of the type `openai` are not accepted, because the gateway calls them through the Responses API.
    // Requests with the URL of an image or a file are not relayed either. A compatible server may be in the operator's
    // own network, and must not download files for callers.
    accepts: (type) => type === 'openai-compatible' && !hasAddresses(body),
    stream,
    path: () => '/chat/completions',
    body: (model, maxOutputTokens) => ({
      ...body,
      model,
      ...limitOf(body, maxOutputTokens),
      // The usage is needed for the budgets, even if the client does not request it.
      ...(stream && { stream_options: { ...options, include_usage: true } }),
      // `service_tier` is removed, because a tier may cost more than the price that the gateway counts.
      service_tier: undefined,
    }),
    // Inside a JSON string, the quotation marks would be escaped. So the pattern does not match the text of the answer,
    // but only members of JSON objects.
    rewrite: (text) => text.replaceAll(/"model":\s*"[^"\\]*"/g, () => replacement),
    watched: /"usage":\s*\{|"finish_reason":\s*"|"error":\s*\{/,
    read(event) {
      const { error, choices, usage } = event;
      if (isObject(error)) return { failed: true };
      const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
      const reason = fieldIn(first, 'finish_reason');
      if (!stream) event['model'] = name;
      const { inputTokens, outputTokens = 0, ...counts } = countsIn(usage, CHAT);
      return {
        usage: inputTokens === undefined ? undefined : { inputTokens, outputTokens, ...counts },
        ...(typeof reason === 'string' && { end: REASONS[reason] ?? 'other' }),
        changed: !stream,
        dropped: stream && !includeUsage && first === undefined && isObject(usage),
      };
    },
  };
}

/**
 * Returns the fields that limit the answer to `limit` tokens. If the client used `max_completion_tokens`, `max_tokens`
 * or both, returns the fields that the client used, because a server may support only one of them. If the client used
 * neither, returns the older field `max_tokens`, which more servers support. Returns no fields if `limit` is undefined.
 */
function limitOf(body: ChatBody, limit: number | undefined): object {
  if (limit === undefined) return {};
  const { max_completion_tokens: longest, max_tokens: older } = body;
  if (!isSet(longest)) return { max_tokens: limit };
  return {
    max_completion_tokens: Math.min(longest, limit),
    ...(isSet(older) && { max_tokens: Math.min(older, limit) }),
  };
}

function hasAddresses({ messages }: ChatBody): boolean {
  return messages.some(
    ({ content }) =>
      Array.isArray(content) &&
      content.some(
        (part) =>
          (part.type === 'image_url' && !part.image_url.url.startsWith('data:')) ||
          (part.type === 'file' && isAddress(part.file.file_data ?? '')),
      ),
  );
}

/** Returns whether the data of a file is an address to download from. Plain base64 has no colon. */
function isAddress(data: string): boolean {
  return data.includes(':') && !data.startsWith('data:');
}
