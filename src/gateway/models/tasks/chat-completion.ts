/**
 * Reads the requests of the gateway's own tasks, which arrive over A2A or the gateway's own REST API (dialect/). A
 * request is either a message with one data part for the skill `chat-completion`, or an ordinary message. Both kinds of
 * requests may have settings in the metadata.
 *
 *   { "kind": "data", "data": { "messages": [{ "role": "user", "content": "Hello" }], "model": "fast" } }
 *   { "kind": "text", "text": "Hello" }  with the metadata  { "model": "fast", "temperature": 0 }
 *
 * The conversation and the settings, except for `system`, are in the format of OpenAI's chat completions. In the
 * metadata, null means that a setting is not set. A setting either has an effect or is refused, with two exceptions:
 * providers that do not support `verbosity` ignore it, and models that do not think ignore `reasoning_effort`. Other
 * names in the metadata belong to the client, except for `agent`, `api_type` and `expiresAt`. All metadata is stored
 * with the task.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { isObject } from '../../../base/index.ts';
import type { ModelRequest } from '../../../agent/index.ts';
import { A2AError, type Message, type Metadata } from '../../../protocol/index.ts';
import { modelContent } from './content.ts';
import { invalidField, readAt } from '../vendor-api/request.ts';
import { chatMessages, chatSettings } from '../openai/request.ts';
import { ChatMessages, Effort, ResponseFormat, Verbosity } from '../openai/schema.ts';

const MAX_STOPS = 4;

function range(min: number, max: number) {
  const error = `must be a number from ${min} to ${max}`;
  return z.number({ error }).min(min, { error }).max(max, { error });
}

const wholeNumber = { error: 'must be a whole number of at least 1' };
const limit = z.int(wholeNumber).min(1, wholeNumber);
const name = { error: 'must be the name of a model' };
const stops = { error: `must be text, or an array of at most ${MAX_STOPS} texts` };

const Settings = z
  .strictObject({
    model: z.string(name).min(1, name).describe('The name of the model'),
    system: z
      .string({ error: 'must be text' })
      .describe('Instructions for the model, before the conversation'),
    temperature: range(0, 2),
    top_p: range(0, 1),
    max_tokens: limit.describe('Maximum number of tokens of the answer'),
    max_completion_tokens: limit.describe(
      'The same as max_tokens. If both are set, the smaller value applies',
    ),
    stop: z.union([z.string(), z.array(z.string()).max(MAX_STOPS)], stops),
    seed: z.int({ error: 'must be a whole number' }),
    presence_penalty: range(-2, 2),
    frequency_penalty: range(-2, 2),
    response_format: ResponseFormat,
    reasoning_effort: Effort,
    verbosity: Verbosity,
  })
  .partial();
type Settings = z.infer<typeof Settings>;

/** The data part of the skill `chat-completion`. */
const ChatCompletion = z.strictObject({ messages: ChatMessages, ...Settings.shape });

/** The names of the settings. */
export const SETTINGS: readonly string[] = Object.keys(Settings.shape);
const UNKNOWN_FIELD = `not supported: use messages, ${SETTINGS.join(', ')}`;

/** The JSON Schema of the data part, for the agent card. */
export const CHAT_COMPLETION_SCHEMA = z.toJSONSchema(ChatCompletion, {
  io: 'input',
  target: 'draft-7',
});

/** The request that a message contains. */
export interface AskedChat {
  /** The name of the model, or undefined if the request does not contain a name. */
  readonly model: string | undefined;
  readonly request: ModelRequest;
  /**
   * True if the request contains the whole conversation. False if the request continues the conversation of its
   * context.
   */
  readonly isWhole: boolean;
}

/** Reads a request. Throws `invalidParams` with the name of an invalid field. */
export function askedChat(message: Message, metadata: Metadata): AskedChat {
  const settings = settingsIn(metadata);
  const data = completionIn(message);
  if (data === undefined) {
    const { model } = settings;
    const request = { messages: [modelContent(message)], ...requestSettings(settings) };
    return { model, request, isWhole: false };
  }
  const { messages, ...own } = readAt(ChatCompletion, data, 'data', UNKNOWN_FIELD);
  const merged = { ...settings, ...own };
  for (const [field, value] of Object.entries(settings)) {
    if (isDeepStrictEqual(value, Reflect.get(merged, field))) continue;
    throw invalidField(`metadata.${field}`, `the data part has another ${field}: send only one`);
  }
  const said = inside('data', () => chatMessages(messages));
  const request = requestSettings(merged);
  const system = [request.system, said.system].filter(Boolean).join('\n\n');
  return {
    model: merged.model,
    request: { ...request, messages: said.messages, ...(system !== '' && { system }) },
    isWhole: true,
  };
}

/**
 * Returns the model of a request for embeddings, or undefined if the request does not name one. Throws if the request
 * has a setting that has no effect on embeddings.
 */
export function embeddingModel(metadata: Metadata): string | undefined {
  const { model, ...others } = settingsIn(metadata);
  const [field] = Object.keys(others);
  if (field === undefined) return model;
  throw invalidField(`metadata.${field}`, 'has no effect on embeddings: leave it out');
}

/**
 * Returns the data of the skill, or undefined if the message is ordinary content. A message is for the skill if one of
 * its data parts has `messages`, or if all its parts are data parts. Throws if such a message has more than one part.
 */
function completionIn({ parts }: Message): unknown {
  const data = parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
  const own = data.find((each) => isObject(each) && 'messages' in each);
  if (own === undefined && data.length < parts.length) return undefined;
  if (parts.length > 1) {
    const why = 'a data part of chat-completion must be the only part of its message';
    throw invalidField('message.parts', why);
  }
  return data[0];
}

function settingsIn(metadata: Metadata): Settings {
  const given = Object.entries(metadata).filter(
    ([field, value]) => SETTINGS.includes(field) && value !== null,
  );
  return given.length === 0 ? {} : readAt(Settings, Object.fromEntries(given), 'metadata');
}

function requestSettings({ system = '', ...given }: Settings): Omit<ModelRequest, 'messages'> {
  const { max_tokens: one = Infinity, max_completion_tokens: other = Infinity, ...rest } = given;
  const most = Math.min(one, other);
  const settings = chatSettings(most === Infinity ? rest : { ...rest, max_tokens: most });
  return { ...settings, ...(system !== '' && { system }) };
}

/** Runs `work`. If `work` reports an invalid field, adds `at` before the name of the field. */
function inside<Result>(at: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const [violation] = error instanceof A2AError ? (error.detail.violations ?? []) : [];
    throw violation ? invalidField(`${at}.${violation.field}`, violation.description) : error;
  }
}
