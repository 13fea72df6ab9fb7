/**
 * Requests of an MCP server to the model (sampling). Only text is supported. A request is limited in size. The model
 * gets no tools, so that a server cannot start further calls.
 */
import { isObject, type JsonObject, type JsonValue } from '../../base/index.ts';
import type { CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client';
import type { Usage } from '../event.ts';
import type { FinishReason, Model, ModelRequest } from '../model.ts';
import { generate } from '../spans.ts';
import type { Tool, ToolContext } from '../tool.ts';

/** Maximum total length of a request's messages, system prompt and stop sequences, in characters. */
const MAX_PROMPT = 100_000;
const MAX_MESSAGES = 100;
/** Maximum number of tokens of one answer. A higher number in a request is reduced to this maximum. */
const MAX_TOKENS = 4_096;
const MAX_STOPS = 4;

/**
 * Returns the arguments of the sampling tool. They contain everything that the model gets, so that a person sees what
 * they approve. If the request is not supported, returns the reason.
 *
 * @internal
 */
export function samplingArguments(params: CreateMessageRequestParams): JsonObject | string {
  if (params.tools !== undefined) return 'sampling with tools is not supported';
  const { messages, systemPrompt, maxTokens, temperature } = params;
  const stops = params.stopSequences?.slice(0, MAX_STOPS) ?? [];
  if (messages.length === 0 || messages.length > MAX_MESSAGES) {
    return `a request must have 1 to ${MAX_MESSAGES} messages`;
  }
  const read = messages.map(({ role, content }) => ({ role, text: textOf(content) }));
  const texts = read.flatMap(({ role, text }) => (text === undefined ? [] : [{ role, text }]));
  if (texts.length < read.length) return 'only text is supported in a request for the model';
  const all = [systemPrompt ?? '', ...stops, ...texts.map(({ text }) => text)];
  const size = all.reduce((sum, text) => sum + text.length, 0);
  if (size > MAX_PROMPT) return `a request must have at most ${MAX_PROMPT} characters`;
  return {
    messages: texts,
    ...(systemPrompt !== undefined && { system_prompt: systemPrompt }),
    max_tokens: Math.max(1, Math.min(Math.trunc(maxTokens), MAX_TOKENS)),
    ...(temperature !== undefined && { temperature }),
    ...(stops.length > 0 && { stop_sequences: stops }),
  };
}

/** Returns the text of a message, or undefined if it has other content. */
function textOf(content: unknown): string | undefined {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  const texts = blocks.map((block) =>
    isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
      ? block['text']
      : undefined,
  );
  return texts.includes(undefined) ? undefined : texts.join('\n');
}

/**
 * Returns the answer of the sampling tool in the format that the server expects.
 *
 * @internal
 */
export function samplingResult(value: unknown): {
  readonly text: string;
  readonly result: CreateMessageResult;
} {
  const { text, model, stop }: Readonly<Record<string, unknown>> = isObject(value) ? value : {};
  if (typeof text !== 'string' || typeof model !== 'string') throw new TypeError('no answer');
  const stopReason = stop === 'length' ? 'maxTokens' : 'endTurn';
  return {
    text,
    result: { role: 'assistant', model, stopReason, content: { type: 'text', text } },
  };
}

/** The options of `samplingTool`. */
export interface SamplingOptions {
  /** The name of the MCP server. */
  readonly server: string;
  /** Returns the model that answers. */
  readonly modelOf: (context: ToolContext) => Model;
  /** Called with the token counts of each answer. Must not throw. */
  readonly used?: (model: string, usage: Usage, context: ToolContext) => void;
}

/**
 * Makes the tool that answers an MCP server's requests to the model (`sampling` of `mcpToolset`). Models do not see
 * this tool.
 *
 *   const sampling = samplingTool({ server: server.name, modelOf: () => model('google:gemini-3-flash') });
 *   mcpToolset(server, { sampling });
 */
export function samplingTool({ server, modelOf, used }: SamplingOptions): Tool {
  return {
    name: `mcp_sampling__${server}`,
    description: `Lets the MCP server ${server} use the model.`,
    parameters: { type: 'object' },
    async run(args, context): Promise<JsonValue> {
      const model = modelOf(context);
      const request = requestFrom(args);
      let text = '';
      let stop: FinishReason = 'stop';
      for await (const chunk of generate(model, request, context.signal)) {
        if (chunk.kind === 'text') text += chunk.text;
        else if (chunk.kind === 'finish') {
          stop = chunk.reason;
          if (chunk.usage) used?.(model.name, chunk.usage, context);
        }
      }
      return { text, model: model.name, stop };
    },
  };
}

/** Returns the model request for arguments from `samplingArguments`. */
function requestFrom({
  messages,
  system_prompt: system,
  max_tokens: maxOutputTokens,
  temperature,
  stop_sequences: stop,
}: JsonObject): ModelRequest {
  return {
    ...(typeof system === 'string' && { system }),
    messages: (Array.isArray(messages) ? messages : []).filter(isObject).map(({ role, text }) => ({
      role: role === 'user' ? 'user' : 'model',
      parts: [{ kind: 'text', text: String(text) }],
    })),
    ...(typeof maxOutputTokens === 'number' && { maxOutputTokens }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(Array.isArray(stop) && { stop: stop.map(String) }),
  };
}
