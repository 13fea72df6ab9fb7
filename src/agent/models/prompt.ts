/** Converts a request to the call options of the AI SDK's providers. */
import type {
  JSONSchema7,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { type JsonObject, defined, sizeOf } from '../../base/index.ts';
import type {
  BlobPart,
  Content,
  FileContentPart,
  FunctionResponsePart,
  ContentPart,
} from '../content.ts';
import {
  ModelError,
  type ModelRequest,
  type ProviderTool,
  type ToolDeclaration,
} from '../model.ts';
import { acceptedFile, isAcceptedBy } from './accepted-files.ts';
import { answerSchema, toolSchema } from './schema.ts';

/** The kinds of content that a model accepts in addition to text. */
export interface Abilities {
  /** Patterns for URLs that the vendor fetches itself, by media type. */
  readonly urls: Readonly<Record<string, readonly RegExp[]>>;
  /** The provider's name in the AI SDK, such as `anthropic.messages`. */
  readonly vendor: string;
  /**
   * If true, the conversion fails if a message contains the URL of a file that the vendor cannot fetch. By default, the
   * URL is sent as text. Files from tools never cause this error.
   */
  readonly strict?: boolean | undefined;
  /**
   * Whether the contents of files are sent. If false, the model gets a note instead of each file that is not text.
   * Files with a URL depend only on `urls`.
   */
  readonly files?: boolean;
}

interface FileMessagePart extends LanguageModelV4FilePart {
  data: { type: 'data'; data: string } | { type: 'url'; url: URL };
}
interface ResultPart extends LanguageModelV4ToolResultPart {
  output: Exclude<LanguageModelV4ToolResultPart['output'], { type: 'content' }>;
}
type UserPart = LanguageModelV4TextPart | FileMessagePart;
type ModelPart = UserPart | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;
/** The subset of prompt messages that we use. */
type Message =
  | { role: 'system'; content: string }
  | { role: 'user'; content: UserPart[] }
  | { role: 'assistant'; content: ModelPart[] }
  | { role: 'tool'; content: ResultPart[] };
type Call = Omit<LanguageModelV4CallOptions, 'prompt'> & { prompt: Message[] };

type Tool = NonNullable<Call['tools']>[number];

/**
 * Returns the options of a call. `search` is the vendor's own web search, if the model may use it.
 *
 * @internal
 */
export function callOptions(
  request: ModelRequest,
  abilities: Abilities,
  search?: ProviderTool | false,
): Call {
  const { system, tools = [], maxOutputTokens, temperature, topP, topK, stop, seed } = request;
  const { presencePenalty, frequencyPenalty, reasoning } = request;
  return {
    prompt: [
      ...(system ? [{ role: 'system' as const, content: system }] : []),
      ...request.messages.flatMap((content) => messages(content, abilities)),
    ],
    ...((tools.length > 0 || search) && {
      tools: [...tools.map(toolOf), ...(search ? [{ type: 'provider' as const, ...search }] : [])],
      toolChoice: toolChoiceOf(request),
    }),
    ...defined({ maxOutputTokens, temperature, topP, topK, seed }),
    ...defined({ presencePenalty, frequencyPenalty, reasoning }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...responseFormatOf(request),
  };
}

function toolOf({ name, description, parameters, strict }: ToolDeclaration): Tool {
  const inputSchema = jsonSchema(toolSchema(parameters));
  return { type: 'function', name, description, inputSchema, ...defined({ strict }) };
}

function toolChoiceOf({ toolChoice = 'auto' }: ModelRequest): NonNullable<Call['toolChoice']> {
  if (typeof toolChoice === 'string') return { type: toolChoice };
  return { type: 'tool', toolName: toolChoice.tool };
}

function responseFormatOf({ outputSchema, json }: ModelRequest): Pick<Call, 'responseFormat'> {
  if (outputSchema !== undefined) {
    const schema = jsonSchema(answerSchema(outputSchema));
    return { responseFormat: { type: 'json', name: 'answer', schema } };
  }
  return json === true ? { responseFormat: { type: 'json' } } : {};
}

/**
 * Converts the options for specification version 3, which represents files differently. Omits tools of the vendor.
 *
 * @internal
 */
export function callOptionsV3({ tools, ...call }: Call): LanguageModelV3CallOptions {
  const prompt = call.prompt.map((message): LanguageModelV3Message => {
    if (message.role === 'user') return { ...message, content: message.content.map(partV3) };
    if (message.role === 'assistant') return { ...message, content: message.content.map(partV3) };
    return message;
  });
  const functions = tools?.filter((tool) => tool.type === 'function');
  return { ...call, prompt, ...(functions !== undefined && { tools: functions }) };
}

function partV3<Other extends { type: string }>(
  part: FileMessagePart | Other,
): LanguageModelV3FilePart | Other {
  if (!isFile(part)) return part;
  return { ...part, data: part.data.type === 'url' ? part.data.url : part.data.data };
}

function isFile(part: { type: string }): part is FileMessagePart {
  return part.type === 'file';
}

/**
 * Converts a content to prompt messages. Vendors require tool responses directly after the calls, so the responses
 * come before the other user parts. The files of the responses follow in a user message.
 */
function messages(content: Content, abilities: Abilities): Message[] {
  const responses = content.parts.filter((part) => part.kind === 'function-response');
  const rest = content.parts.filter((part) => part.kind !== 'function-response');
  const found: Message[] = [];
  if (content.role === 'model' && rest.length > 0) {
    const said = rest.flatMap((part) => modelParts(part, abilities));
    if (said.length > 0) found.push({ role: 'assistant', content: said });
  }
  if (responses.length > 0) found.push({ role: 'tool', content: responses.map(toolResult) });
  const files = responses.flatMap((response) => filesOf(response, abilities));
  const said = content.role === 'user' ? rest.flatMap((part) => userParts(part, abilities)) : [];
  if (files.length + said.length > 0) found.push({ role: 'user', content: [...files, ...said] });
  return found;
}

function modelParts(part: ContentPart, abilities: Abilities): ModelPart[] {
  switch (part.kind) {
    case 'thought':
      return [{ type: 'reasoning', text: part.text, ...carried(part.provider) }];
    case 'function-call': {
      const { id: toolCallId, name: toolName, args: input, provider } = part;
      return [{ type: 'tool-call', toolCallId, toolName, input, ...carried(provider) }];
    }
    default:
      return userParts(part, abilities);
  }
}

function userParts(part: ContentPart, abilities: Abilities): UserPart[] {
  switch (part.kind) {
    case 'text':
      // Vendors refuse an empty text unless it has vendor metadata.
      if (part.text === '' && part.provider === undefined) return [];
      return [{ type: 'text', text: part.text, ...carried(part.provider) }];
    case 'data':
      return [{ type: 'text', text: JSON.stringify(part.data) }];
    case 'blob':
      return [abilities.files === false && !isText(part.mediaType) ? noteOn(part) : blob(part)];
    case 'file':
      return [file(part, abilities)];
    default:
      // User messages cannot contain thoughts or calls.
      return [];
  }
}

function blob(part: BlobPart): UserPart {
  const { mediaType, data, name } = part;
  if (isText(mediaType)) {
    const text = Buffer.from(data, 'base64').toString('utf8');
    return { type: 'text', text: name === undefined ? text : `${name}:\n${text}` };
  }
  return { type: 'file', mediaType, data: { type: 'data', data }, ...aboutFile(part) };
}

function aboutFile({ name, provider }: BlobPart | FileContentPart) {
  return { ...defined({ filename: name }), ...carried(provider) };
}

/**
 * Converts a file. If the vendor cannot fetch the file, only the file's name, URI and type are sent, as text. With
 * `strict`, throws a ModelError instead. This function never fetches the file.
 */
function file(part: FileContentPart, { urls, strict }: Abilities): UserPart {
  const { uri, mediaType, name } = part;
  if (mediaType !== undefined && URL.canParse(uri) && fetchesItself(urls, mediaType, uri)) {
    return {
      type: 'file',
      mediaType,
      data: { type: 'url', url: new URL(uri) },
      ...aboutFile(part),
    };
  }
  if (strict === true) {
    const message = 'the model cannot download this file: send the content of the file';
    throw new ModelError('invalid-request', message);
  }
  const kind = mediaType === undefined ? '' : ` (${mediaType})`;
  return { type: 'text', text: `[file ${name === undefined ? '' : `${name} `}at ${uri}${kind}]` };
}

function fetchesItself(urls: Abilities['urls'], mediaType: string, uri: string): boolean {
  const [type = ''] = mediaType.split('/');
  const patterns = [mediaType, `${type}/*`, '*/*', '*'].flatMap((key) => urls[key] ?? []);
  return patterns.some((pattern) => pattern.test(uri.toLowerCase()));
}

function isText(mediaType: string): boolean {
  return /^(text\/|application\/json\b)/.test(mediaType);
}

function toolResult({ id, name, response, isError }: FunctionResponsePart): ResultPart {
  const error = isError === true;
  return {
    type: 'tool-result',
    toolCallId: id,
    toolName: name,
    output:
      typeof response === 'string'
        ? { type: error ? 'error-text' : 'text', value: response }
        : { type: error ? 'error-json' : 'json', value: response },
  };
}

function filesOf({ name, parts = [] }: FunctionResponsePart, abilities: Abilities): UserPart[] {
  if (parts.length === 0) return [];
  const files = parts.map((part) => toolFile(part, abilities));
  return [{ type: 'text', text: `[files from ${name}]` }, ...files];
}

/** Converts a file from a tool. If the vendor does not accept the file, the model gets a note instead. */
function toolFile(part: BlobPart | FileContentPart, { vendor, files }: Abilities): UserPart {
  // A URL from a tool is not sent as a file. If the vendor could not fetch it, the whole request would fail.
  if (part.kind === 'file') return file(part, { urls: {}, vendor });
  if (isText(part.mediaType)) return blob(part);
  const accepted = files === false ? undefined : acceptedFile(part);
  return accepted && isAcceptedBy(vendor, accepted) ? blob(accepted) : noteOn(part);
}

function noteOn(part: BlobPart): LanguageModelV4TextPart {
  const called = part.name === undefined ? '' : `${part.name}: `;
  const size = sizeOf(Math.floor((part.data.length * 3) / 4));
  const why = 'not shown, because this model does not accept the file';
  return { type: 'text', text: `[${called}${part.mediaType}, ${size}, ${why}]` };
}

function carried(provider: JsonObject | undefined): { providerOptions?: SharedV4ProviderOptions } {
  // provider.ts received this metadata from the vendor in the same form.
  return provider === undefined ? {} : { providerOptions: provider as SharedV4ProviderOptions };
}

/** Changes only the type. The schema is not checked here, because the vendor checks it. */
function jsonSchema(schema: JsonObject): JSONSchema7 {
  return schema as JSONSchema7;
}
