/**
 * Adapts any language model of the AI SDK (`@ai-sdk/*`) to the framework's Model.
 *
 *     import { createGroq } from '@ai-sdk/groq';
 *     const model = fromProvider(createGroq({ apiKey })('llama-4'));
 *
 * Some vendor metadata must be sent back later, for example signatures of thoughts and ids of items. This metadata is
 * in the field `provider` of a chunk, and in the same field of the part that is made from the chunks. If a block of
 * text or thought has metadata, the last chunk of the block contains it. Consecutive chunks of the same kind are joined
 * into one part. A chunk with a `provider` ends its part.
 *
 * A stream that ends without the vendor's finish event is an error. It is never treated as a short answer.
 */
import type {
  LanguageModelV3,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { defined, reasonOf, type JsonObject } from '../../base/index.ts';
import type { Usage } from '../event.ts';
import {
  ModelError,
  type FinishReason,
  type Model,
  type ModelChunk,
  type ModelRequest,
  type ProviderTool,
  type WebSource,
} from '../model.ts';
import { isCount } from './pieces.ts';
import { callOptions, callOptionsV3 } from './prompt.ts';
import { withRetry, type ModelRetryOptions } from './retry.ts';
import { startTimeouts, totalTimeout, type TimeoutOptions } from './timeouts.ts';
import { cutOff, refusesContent, type ErrorSource } from './vendor-error.ts';
import { isJsonObject, objectOf } from './schema.ts';

/**
 * A language model of the AI SDK, specification version 4 or 3. The type is structural, so that this package works
 * with different releases of the AI SDK.
 */
export interface ProviderModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** Vendor-specific options, by vendor. */
export type VendorOptions = Readonly<Record<string, JsonObject>>;

/** The options of `fromProvider`. */
export interface ProviderOptions extends TimeoutOptions {
  /** Display name. Default: the provider's name and the model's id. */
  readonly name?: string;
  /** The size of the context window in tokens. */
  readonly contextWindow?: number;
  /** Vendor-specific options by vendor, sent with each request. */
  readonly providerOptions?:
    | VendorOptions
    | ((request: ModelRequest) => VendorOptions | undefined)
    | undefined;
  /** The vendor's own web search, for requests with `webSearch`. */
  readonly webSearch?: ProviderTool | undefined;
  /**
   * The name of the environment variable that contains the key. If the key is refused, the error message names this
   * variable.
   */
  readonly keyVariable?: string;
  /** The API key. It is removed from error messages. */
  readonly secret?: string;
  /** The settings for retries, or false to never retry. */
  readonly retry?: ModelRetryOptions | false;
  /**
   * Maximum number of characters in one answer, including text, thoughts, arguments and files. Default: 32 million.
   */
  readonly maxChars?: number;
  /** Called when the vendor refused a file, and the request was repeated without files. Must not throw. */
  readonly onFilesRefused?: (model: string) => void;
  /** Maximum number of tool calls in one answer. Default: 128. */
  readonly maxCalls?: number;
  /**
   * Whether a request fails if it contains a setting or a file that the vendor does not support. By default, such a
   * setting is ignored, and the model gets a note instead of such a file.
   */
  readonly strict?: boolean;
}

const MAX_CHARS = 32_000_000;
const MAX_CALLS = 128;
const MAX_CALL_ID_CHARS = 256;
const MAX_SOURCES = 50;
const MAX_TITLE_CHARS = 200;
const MAX_URL_CHARS = 4096;

type LanguageModel = LanguageModelV4 | LanguageModelV3;
type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart;
type GenerateResult = LanguageModelV4GenerateResult | LanguageModelV3GenerateResult;

/** Returns the model with timeouts, limits and retries. */
export function fromProvider(given: ProviderModel, options: ProviderOptions = {}): Model {
  // `specificationVersion` distinguishes the two versions.
  const languageModel = given as LanguageModel;
  const { name = `${given.provider}:${given.modelId}`, contextWindow, retry } = options;
  const source: ErrorSource = { name, keyVariable: options.keyVariable, secret: options.secret };

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    signal.throwIfAborted();
    const limits = request.streaming === false ? totalTimeout(options.timeoutMs) : options;
    const timeouts = startTimeouts(source, signal, limits);
    try {
      const stream = await timeouts.step(open(languageModel, request, timeouts.signal, options));
      const reader: { read(): Promise<Step>; cancel(): Promise<void> } = stream.getReader();
      try {
        const next = (): Promise<Step> => timeouts.step(reader.read());
        yield* chunks(next, source.name, request, { ...options, onEvent: timeouts.clearFirst });
      } finally {
        reader.cancel().catch(() => undefined);
      }
    } catch (error) {
      throw timeouts.reason(error);
    } finally {
      timeouts.end();
    }
  }

  const model = { name, ...(contextWindow !== undefined && { contextWindow }), generate };
  return retry === false ? model : withRetry(model, retry);
}

async function open(
  languageModel: LanguageModel,
  request: ModelRequest,
  abortSignal: AbortSignal,
  options: ProviderOptions,
): Promise<ReadableStream<StreamPart>> {
  const { strict } = options;
  const vendor = languageModel.provider;
  const abilities = { urls: await languageModel.supportedUrls, vendor, strict };
  const given = options.providerOptions;
  const providerOptions = typeof given === 'function' ? given(request) : given;
  const settings = {
    abortSignal,
    // Raw chunks are needed, because every event of the vendor restarts the idle timeout, including events without
    // content.
    includeRawChunks: true,
    ...(providerOptions !== undefined && { providerOptions }),
  };
  const ask = async (call: ReturnType<typeof callOptions>): Promise<ReadableStream<StreamPart>> => {
    if (request.streaming === false) {
      return streamOf(
        await (languageModel.specificationVersion === 'v3'
          ? languageModel.doGenerate({ ...callOptionsV3(call), ...settings })
          : languageModel.doGenerate({ ...call, ...settings })),
      );
    }
    const { stream } = await (languageModel.specificationVersion === 'v3'
      ? languageModel.doStream({ ...callOptionsV3(call), ...settings })
      : languageModel.doStream({ ...call, ...settings }));
    return stream;
  };
  const search = request.webSearch && options.webSearch;
  const call = callOptions(request, abilities, search);
  try {
    return await ask(call);
  } catch (error) {
    // The vendor may have refused a file, such as a damaged image. The request is repeated without files, because every
    // later request contains the same file and would be refused too.
    if (strict === true || !refusesContent(error) || !hasFiles(call)) throw error;
    const without = callOptions(request, { ...abilities, urls: {}, files: false }, search);
    const answer = await ask(without).catch(() => Promise.reject(error));
    options.onFilesRefused?.(options.name ?? languageModel.modelId);
    return answer;
  }
}

/**
 * Converts a vendor's complete answer to the parts of a stream, so that complete and streamed answers are read in the
 * same way.
 */
function streamOf(answer: GenerateResult): ReadableStream<StreamPart> {
  return ReadableStream.from(partsOf(answer));
}

function* partsOf({
  content,
  finishReason,
  usage,
  warnings,
}: GenerateResult): Generator<StreamPart> {
  yield { type: 'stream-start', warnings };
  for (const [index, part] of content.entries()) {
    if (part.type !== 'text' && part.type !== 'reasoning') {
      yield part;
      continue;
    }
    const { type, text: delta, providerMetadata } = part;
    const id = String(index);
    yield { type: `${type}-start`, id };
    yield { type: `${type}-delta`, id, delta };
    yield { type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) };
  }
  yield { type: 'finish', finishReason, usage };
}

function hasFiles({ prompt }: ReturnType<typeof callOptions>): boolean {
  return prompt.some(
    ({ content }) =>
      typeof content !== 'string' && content.some((part: { type: string }) => part.type === 'file'),
  );
}

/**
 * Returns whether this is the HTTP address of a page. Other addresses, such as `javascript:`, are refused, because a
 * client may show the address as a link.
 */
function isPage(url: string): boolean {
  return url.length <= MAX_URL_CHARS && /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

type Step = { readonly done: boolean; readonly value?: StreamPart | undefined };

/** Converts the provider's stream parts to chunks, up to and including the finish chunk. */
async function* chunks(
  next: () => Promise<Step>,
  name: string,
  request: ModelRequest,
  options: ProviderOptions & { readonly onEvent: () => void },
): AsyncGenerator<ModelChunk> {
  const { maxChars = MAX_CHARS, maxCalls = MAX_CALLS } = options;
  /** The open blocks, each with its vendor metadata. */
  const open = new Map<string, { kind: 'text' | 'thought'; provider: JsonObject | undefined }>();
  const callIds = new Set<string>();
  const sources = new Map<string, WebSource>();
  let chars = 0;

  function count(said: string): void {
    chars += said.length;
    if (chars > maxChars) throw tooMuch(`${maxChars} characters`);
  }
  function tooMuch(limit: string): ModelError {
    const message = `${name} sent more than ${limit} in one answer and was stopped`;
    return new ModelError('failed', message);
  }
  function* close(id: string): Generator<ModelChunk> {
    const block = open.get(id);
    open.delete(id);
    if (block?.provider === undefined) return;
    count(JSON.stringify(block.provider));
    yield { kind: block.kind, text: '', provider: block.provider };
  }

  for (;;) {
    const { done, value: part } = await next();
    if (done || part === undefined) throw cutOff(name);
    if (part.type !== 'stream-start') options.onEvent();
    switch (part.type) {
      case 'stream-start':
        if (options.strict === true) refuseUnsupported(part.warnings, name, request);
        break;
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const kind = part.type.startsWith('text') ? 'text' : 'thought';
        const id = `${kind} ${part.id}`;
        const provider = merge(open.get(id)?.provider, json(part.providerMetadata));
        open.set(id, { kind, provider });
        if ('delta' in part && part.delta !== '') {
          count(part.delta);
          yield { kind, text: part.delta };
        }
        if (part.type.endsWith('-end')) yield* close(id);
        break;
      }
      case 'tool-input-delta':
        // The complete call follows in a separate part. Here, only the size of the arguments is counted.
        count(part.delta);
        break;
      case 'tool-call': {
        if (part.providerExecuted === true) break;
        if (request.parallelToolCalls === false && callIds.size > 0) break;
        if (callIds.size >= maxCalls) throw tooMuch(`${maxCalls} calls`);
        count(part.input);
        const { toolCallId, toolName: name, input, providerMetadata } = part;
        const call = { id: freshId(toolCallId, callIds), name, ...parseArguments(input) };
        yield { kind: 'function-call', ...call, ...defined({ provider: json(providerMetadata) }) };
        break;
      }
      case 'file': {
        const { mediaType } = part;
        const provider = json(part.providerMetadata);
        const data = base64(part.data);
        if (data instanceof URL) {
          yield { kind: 'text', text: data.href };
          break;
        }
        count(data);
        yield { kind: 'blob', mediaType, data, ...defined({ provider }) };
        break;
      }
      case 'source':
        if (part.sourceType !== 'url' || sources.size >= MAX_SOURCES) break;
        count(part.url);
        if (isPage(part.url) && !sources.has(part.url)) {
          const title = part.title?.trim().slice(0, MAX_TITLE_CHARS);
          sources.set(part.url, { url: part.url, ...(title && { title }) });
        }
        break;
      case 'error':
        throw part.error;
      case 'finish': {
        const { unified } = part.finishReason;
        if (unified === 'interrupted') throw cutOff(name);
        if (unified === 'error') throw new ModelError('failed', `${name} failed during its answer`);
        for (const id of open.keys()) yield* close(id);
        const reason: FinishReason =
          unified === 'stop' && callIds.size > 0 ? 'tool-calls' : unified;
        const found = request.webSearch && sources.size > 0 && { sources: [...sources.values()] };
        yield { kind: 'finish', reason, ...usageOf(part.usage), ...found };
        return;
      }
      default:
      // The remaining kinds are not used by agents: pings, raw events, and the results of tools that the vendor runs
      // itself.
    }
  }
}

/** Settings that change the answer and that some vendors do not support, with their names for error messages. */
const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'a temperature',
  maxOutputTokens: 'this number of output tokens',
  topP: 'top-p',
  stopSequences: 'stop sequences',
  seed: 'a seed',
  frequencyPenalty: 'a frequency penalty',
  presencePenalty: 'a presence penalty',
  responseFormat: 'a JSON schema for its answer',
  toolChoice: 'a tool choice',
  tools: 'tools',
};

/**
 * Values that are the default for all vendors. Omitting them does not change the answer, so they are never refused.
 * Many clients always send them, although OpenAI's reasoning models do not support a temperature.
 */
const DEFAULTS = new Map([
  ['temperature', 1],
  ['topP', 1],
  ['frequencyPenalty', 0],
  ['presencePenalty', 0],
]);

function isDefault(request: ModelRequest, setting: string): boolean {
  return DEFAULTS.has(setting) && Reflect.get(request, setting) === DEFAULTS.get(setting);
}

function refuseUnsupported(
  warnings: Extract<StreamPart, { type: 'stream-start' }>['warnings'],
  name: string,
  request: ModelRequest,
): void {
  const unsupported = warnings.flatMap((warning) =>
    warning.type === 'unsupported' && !isDefault(request, warning.feature)
      ? (SETTINGS[warning.feature] ?? [])
      : [],
  );
  if (unsupported.length === 0) return;
  throw new ModelError(
    'invalid-request',
    `${name} does not support ${[...new Set(unsupported)].join(', ')}: remove it from the request`,
  );
}

/** Parses the arguments that a model wrote. Never throws. */
function parseArguments(input: string): { readonly args: JsonObject; readonly problem?: string } {
  if (input.trim() === '') return { args: {} };
  try {
    const args: unknown = JSON.parse(input);
    if (isJsonObject(args)) return { args };
    return { args: {}, problem: 'the arguments are not a JSON object' };
  } catch (error) {
    return { args: {}, problem: `the arguments are not JSON: ${reasonOf(error)}` };
  }
}

/**
 * Returns the call's id, or a new id if this id is invalid or not unique. Responses are matched with calls by this
 * id.
 */
function freshId(id: string, taken: Set<string>): string {
  const usable = id !== '' && id.length <= MAX_CALL_ID_CHARS && !taken.has(id);
  const fresh = usable ? id : `call_${crypto.randomUUID()}`;
  taken.add(fresh);
  return fresh;
}

/** Returns the content of a file as base64, or its URL. Accepts the formats of both specification versions. */
function base64(data: Extract<StreamPart, { type: 'file' }>['data']): string | URL {
  if (typeof data === 'string') return data;
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  return data.type === 'url' ? data.url : base64(data.data);
}

/** Returns the token counts, or an empty object if the vendor sent no counts or invalid counts. */
function usageOf(usage: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['usage']): {
  readonly usage?: Usage;
} {
  const { inputTokens: input, outputTokens: output } = usage;
  const totals = [input.total, output.total].filter((total) => total !== undefined);
  if (totals.length === 0 || !totals.every(isCount)) return {};
  return {
    usage: {
      inputTokens: input.total ?? 0,
      outputTokens: output.total ?? 0,
      ...(isCount(input.cacheRead) && { cachedTokens: input.cacheRead }),
      ...(isCount(output.reasoning) && { thoughtTokens: output.reasoning }),
    },
  };
}

/** Merges metadata by vendor. Later values override earlier values. */
function merge(
  before: JsonObject | undefined,
  now: JsonObject | undefined,
): JsonObject | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  const merged: Record<string, JsonObject> = {};
  for (const vendor of new Set([...Object.keys(before), ...Object.keys(now)])) {
    merged[vendor] = { ...objectOf(before[vendor]), ...objectOf(now[vendor]) };
  }
  return merged;
}

/** Converts vendor metadata to plain JSON, because it is stored with the conversation. */
function json(metadata: unknown): JsonObject | undefined {
  if (metadata === undefined) return undefined;
  const plain: unknown = JSON.parse(JSON.stringify(metadata));
  if (!isJsonObject(plain)) return undefined;
  const vendors = Object.entries(plain).filter(([, own]) => Object.keys(objectOf(own)).length > 0);
  return vendors.length > 0 ? Object.fromEntries(vendors) : undefined;
}
