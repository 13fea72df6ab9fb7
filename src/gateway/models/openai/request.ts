/**
 * Converts an OpenAI chat request to a ModelRequest. All system and developer messages are joined into one system
 * instruction. For providers with another API, the fields in UNSUPPORTED are rejected if their values have an effect.
 */
import { type JsonObject, isObject } from '../../../base/index.ts';
import type {
  BlobPart,
  Content,
  FileContentPart,
  FunctionCallPart,
  ContentPart,
  ModelRequest,
  ToolDeclaration,
} from '../../../agent/index.ts';
import {
  type Conversion,
  invalidField,
  isFilled,
  isSet,
  setFields,
  type TextOrFile,
  toolResponse,
} from '../vendor-api/request.ts';
import type { ChatBody, ChatFunction, ChatMessage, ChatToolCall, UserPart } from './schema.ts';

/**
 * Unsupported fields that would change the answer. Each function returns true for values that have no effect. These
 * values are accepted.
 */
const UNSUPPORTED: Readonly<Record<string, (value: unknown) => boolean>> = {
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  audio: () => false,
  functions: () => false,
  function_call: () => false,
  web_search_options: () => false,
};

/**
 * The fields for tools: functions in the current and the old format, and web searches of OpenAI, OpenRouter (`plugins`)
 * and xAI (`search_parameters`).
 */
const TOOLS = ['tools', 'functions', 'web_search_options', 'plugins', 'search_parameters'] as const;

const AUDIO_TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const;

/**
 * Converts the request. Without `strict`, ignores fields that only providers with OpenAI's chat API support. Throws
 * `invalidParams` with the name of an invalid field.
 */
export function chatRequest(body: ChatBody, { strict }: Conversion): ModelRequest {
  // The gateway reserves the cost of only one answer in the budgets. So it refuses a request for several answers.
  if (isSet(body.n) && body.n !== 1) throw invalidField('n', 'must be 1: send several requests');
  if (strict) refuseFields(UNSUPPORTED, body, 'not supported for this model: leave it out');
  return {
    ...chatMessages(body.messages),
    ...toolsOf(body),
    ...chatSettings(body),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
  };
}

/** Throws `invalidParams` if one of the fields is set to a value that has an effect. */
export function refuseFields(
  fields: typeof UNSUPPORTED,
  body: Readonly<Record<string, unknown>>,
  why: string,
): void {
  for (const [field, hasNoEffect] of Object.entries(fields)) {
    if (isSet(body[field]) && !hasNoEffect(body[field])) throw invalidField(field, why);
  }
}

/** Converts the messages. Throws `invalidParams` with the name of an invalid field. */
export function chatMessages(
  given: readonly ChatMessage[],
): Pick<ModelRequest, 'messages' | 'system'> {
  const system = given
    .flatMap((message) =>
      message.role === 'system' || message.role === 'developer' ? [wordsOf(message.content)] : [],
    )
    .join('\n\n');
  const messages = contentsOf(given);
  if (messages.length === 0)
    throw invalidField('messages', 'must contain a user, assistant or tool message');
  return { messages, ...(system !== '' && { system }) };
}

/** Converts the settings of a chat, without its messages and tools. */
export function chatSettings(body: Partial<ChatBody>): Omit<ModelRequest, 'messages'> {
  const { temperature, top_p: topP, stop, seed, response_format: format } = body;
  const { presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = body;
  const { reasoning_effort: reasoning, verbosity } = body;
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens;
  const stops = typeof stop === 'string' ? [stop] : stop;
  return {
    ...setFields({ maxOutputTokens, temperature, topP, seed, verbosity }),
    ...setFields({ presencePenalty, frequencyPenalty }),
    ...(isSet(stops) && stops.length > 0 && { stop: stops }),
    ...(format?.type === 'json_object' && { json: true as const }),
    ...(format?.type === 'json_schema' && { outputSchema: format.json_schema.schema }),
    ...(isSet(reasoning) && { reasoning, thoughts: reasoning !== 'none' }),
  };
}

/** Returns whether the request has tools, including tools that run at the vendor. */
export function hasTools(body: ChatBody): boolean {
  return TOOLS.some((field) => isFilled(body[field]));
}

function toolsOf({
  tools,
  tool_choice: choice,
}: ChatBody): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  if (!isSet(tools) || tools.length === 0) {
    if (!isSet(choice) || choice === 'none' || choice === 'auto') return {};
    throw invalidField('tool_choice', 'requires tools');
  }
  const named = isSet(choice) && typeof choice === 'object' ? choice.function.name : undefined;
  if (named !== undefined && !tools.some((tool) => tool.function.name === named)) {
    throw invalidField('tool_choice', `the tool ${named} is not in tools`);
  }
  return {
    tools: tools.map(({ function: tool }) => declarationOf(tool)),
    ...(typeof choice === 'string' && { toolChoice: choice }),
    ...(named !== undefined && { toolChoice: { tool: named } }),
  };
}

/** Converts a function, which has the same fields in the chat API and in the Responses API. */
export function declarationOf({
  name,
  description = '',
  parameters,
  strict,
}: ChatFunction): ToolDeclaration {
  return {
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    ...setFields({ strict }),
  };
}

/**
 * Converts the messages. Consecutive tool messages become one content, because models require the responses to all
 * calls in the content after the calls.
 */
function contentsOf(messages: readonly ChatMessage[]): Content[] {
  const contents: Content[] = [];
  /** Tool calls that have no response yet, by id. */
  let open = new Map<string, FunctionCallPart>();
  let responses: ContentPart[] = [];

  function close(at: string): void {
    const [missing] = open.keys();
    if (missing !== undefined)
      throw invalidField(at, `the preceding tool call ${missing} has no response`);
    if (responses.length > 0) contents.push({ role: 'user', parts: responses });
    responses = [];
  }

  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    switch (message.role) {
      case 'tool': {
        const { tool_call_id: id, content } = message;
        const call = open.get(id);
        if (call === undefined)
          throw invalidField(at, `there is no preceding tool call with the id ${id}`);
        open.delete(id);
        const response = toolResponse(userParts(content, `${at}.content`));
        responses.push({ kind: 'function-response', id, name: call.name, ...response });
        break;
      }
      case 'user': {
        close(at);
        contents.push({ role: 'user', parts: userParts(message.content, `${at}.content`) });
        break;
      }
      case 'assistant': {
        close(at);
        const words = wordsOf(message.content);
        const calls = (message.tool_calls ?? []).map((call, place) =>
          functionCall(call, `${at}.tool_calls.${place}`),
        );
        open = new Map(calls.map((call) => [call.id, call]));
        const thoughts = message.reasoning_content ?? message.reasoning ?? '';
        const said: ContentPart[] = [
          ...(thoughts === '' ? [] : [{ kind: 'thought' as const, text: thoughts }]),
          ...(words === '' ? [] : [{ kind: 'text' as const, text: words }]),
        ];
        contents.push({ role: 'model', parts: [...said, ...calls] });
        break;
      }
      default:
      // System and developer messages are handled in chatMessages.
    }
  }
  close('messages');
  return contents;
}

function userParts(content: string | readonly UserPart[], at: string): TextOrFile[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return content.map((part, place) => userPart(part, `${at}.${place}`));
}

function userPart(part: UserPart, at: string): TextOrFile {
  switch (part.type) {
    case 'text':
      return { kind: 'text', text: part.text };
    case 'image_url':
      return fileAt(part.image_url.url, `${at}.image_url.url`, 'image/*');
    case 'input_audio': {
      const { data, format } = part.input_audio;
      return { kind: 'blob', mediaType: AUDIO_TYPES[format], data };
    }
    default: {
      const { file_data: data, filename: name } = part.file;
      if (data === undefined) throw invalidField(`${at}.file`, 'send the file as file_data');
      const file = fileAt(data, `${at}.file.file_data`, 'application/pdf');
      return { ...file, ...setFields({ name }) };
    }
  }
}

/**
 * Returns the file that `url` contains (`data:`) or refers to (`https:`, `http:`). A file that `url` refers to gets the
 * media type `mediaTypes`. Only providers download files from addresses, never the gateway itself. Throws
 * `invalidParams` for any other text.
 */
export function fileAt(url: string, at: string, mediaTypes: string): BlobPart | FileContentPart {
  const match = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,([\w+/=-]*)$/.exec(url);
  const [, mediaType, data] = match ?? [];
  if (mediaType !== undefined && data !== undefined) return { kind: 'blob', mediaType, data };
  if (/^https?:\/\/[^\s]+$/i.test(url) && URL.canParse(url)) {
    return { kind: 'file', uri: url, mediaType: mediaTypes };
  }
  throw invalidField(at, 'must be a URL of the form data:TYPE;base64,… or https://…');
}

function functionCall(call: ChatToolCall, at: string): FunctionCallPart {
  const { name, arguments: text } = call.function;
  const signature = call.extra_content?.google?.thought_signature;
  return {
    kind: 'function-call',
    id: call.id,
    name,
    args: argumentsOf(text, `${at}.function.arguments`),
    ...(signature !== undefined && { provider: { google: { thoughtSignature: signature } } }),
  };
}

export function argumentsOf(text: string, at: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const args: unknown = JSON.parse(text);
    // The cast is safe, because the result of JSON.parse is JSON.
    if (isObject(args)) return args as JsonObject;
  } catch {
    // Invalid JSON is reported below, in the same way as JSON that is not an object.
  }
  throw invalidField(at, 'must be a JSON object');
}

/** Returns the text of a system, developer or assistant message. */
function wordsOf(content: Extract<ChatMessage, { role: 'assistant' }>['content']): string {
  if (!isSet(content)) return '';
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : part.refusal)).join('');
}
