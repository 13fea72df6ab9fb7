/**
 * Any language model of the `ai` ecosystem as a model of ours.
 *
 *     import { createGroq } from '@ai-sdk/groq';
 *     const model = fromProvider(createGroq({ apiKey })('llama-4'));
 *
 * What the vendor wants back (signatures of thoughts, ids of items) goes out as a chunk's `provider` and comes back as
 * the part's. A block of text or thought that has such a thing ends with a chunk that carries it: chunks of one kind
 * belong together up to and including the first that has a `provider`.
 *
 * A stream that ends without the vendor's own word that it is complete throws; it is never taken for a short answer.
 */
import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { type JsonObject, reasonOf } from '../../base/index.ts';
import type { Usage } from '../event.ts';
import {
  ModelError,
  type FinishReason,
  type Model,
  type ModelChunk,
  type ModelRequest,
} from '../model.ts';
import { callOptions, callOptionsV3 } from './prompt.ts';
import { withRetry, type ModelRetryOptions } from './retry.ts';
import { cutOff, vendorError, type Blame } from './vendor-error.ts';
import { isJsonObject } from './schema.ts';

/**
 * A language model of the `ai` ecosystem's interface, version 4 or 3. Told by its outline, so that those who use this
 * package need not have the types of a certain release of that interface.
 */
export interface ProviderModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** The options of `fromProvider`. */
export interface ProviderOptions {
  /** As people know it. The provider's name and the model's id. */
  readonly name?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** The vendor's own options, by vendor, for each request. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
  /** The variable that holds the key, to name it when the key is refused. */
  readonly keyVariable?: string;
  /** The key: no error shows it. */
  readonly secret?: string;
  /** False: ask once. */
  readonly retry?: ModelRetryOptions | false;
  /** Until the vendor's first event. As long as any silence. */
  readonly firstEventTimeoutMs?: number;
  /** The longest silence of the vendor. 5 minutes: some think that long without a word. */
  readonly idleTimeoutMs?: number;
  /** For a whole answer. 30 minutes. */
  readonly timeoutMs?: number;
  /** How much a model may say in one answer: characters of text, thoughts, arguments and files together. 32 million. */
  readonly maxChars?: number;
  /** How many calls one answer may have. 128. */
  readonly maxCalls?: number;
  /** What the vendor would leave out of a request makes it fail. Else it is left out. */
  readonly strict?: boolean;
}

const IDLE_TIMEOUT_MS = 5 * 60_000;
const TIMEOUT_MS = 30 * 60_000;
const MAX_CHARS = 32_000_000;
const MAX_CALLS = 128;
const MAX_CALL_ID_CHARS = 256;

type LanguageModel = LanguageModelV4 | LanguageModelV3;
type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart;

/** The model, with time-outs, limits and retries. */
export function fromProvider(given: ProviderModel, options: ProviderOptions = {}): Model {
  // Its version says which of the two it is.
  const languageModel = given as LanguageModel;
  const { name = `${given.provider}:${given.modelId}`, contextWindow, retry } = options;
  const blame: Blame = { name, keyVariable: options.keyVariable, secret: options.secret };

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    signal.throwIfAborted();
    const wait = patience(blame.name, signal, options);
    try {
      const stream = await wait.forStep(open(languageModel, request, wait.signal, options));
      const reader: { read(): Promise<Step>; cancel(): Promise<void> } = stream.getReader();
      try {
        yield* chunks(() => wait.forStep(reader.read()), blame.name, {
          ...options,
          heard: wait.heard,
        });
      } finally {
        reader.cancel().catch(() => undefined);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw wait.signal.aborted ? wait.signal.reason : vendorError(error, blame);
    } finally {
      wait.end();
    }
  }

  const model = { name, ...(contextWindow !== undefined && { contextWindow }), generate };
  return retry === false ? model : withRetry(model, retry);
}

async function open(
  languageModel: LanguageModel,
  request: ModelRequest,
  abortSignal: AbortSignal,
  { providerOptions }: ProviderOptions,
): Promise<ReadableStream<LanguageModelV4StreamPart> | ReadableStream<LanguageModelV3StreamPart>> {
  const call = callOptions(request, { urls: await languageModel.supportedUrls });
  const settings = {
    abortSignal,
    // Every event of the vendor is a sign of life, also those that say nothing.
    includeRawChunks: true,
    ...(providerOptions !== undefined && { providerOptions }),
  };
  const { stream } = await (languageModel.specificationVersion === 'v3'
    ? languageModel.doStream({ ...callOptionsV3(call), ...settings })
    : languageModel.doStream({ ...call, ...settings }));
  return stream;
}

type Step = { readonly done: boolean; readonly value?: StreamPart | undefined };

/** The provider's parts as our chunks, up to and with the last one. */
async function* chunks(
  next: () => Promise<Step>,
  name: string,
  options: ProviderOptions & Pick<Patience, 'heard'>,
): AsyncGenerator<ModelChunk> {
  const { maxChars = MAX_CHARS, maxCalls = MAX_CALLS } = options;
  /** What is to be carried back with each block that is open. */
  const open = new Map<string, { kind: 'text' | 'thought'; provider: JsonObject | undefined }>();
  const callIds = new Set<string>();
  let chars = 0;

  function count(said: string): void {
    chars += said.length;
    if (chars > maxChars) throw tooMuch(`${maxChars} characters`);
  }
  function tooMuch(limit: string): ModelError {
    return new ModelError(
      'failed',
      `${name} said more than ${limit} in one answer: it was stopped`,
    );
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
    if (part.type !== 'stream-start') options.heard();
    switch (part.type) {
      case 'stream-start':
        if (options.strict === true) refuseLosses(part.warnings, name);
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
        // Shown as a whole when it is whole; counted as it comes.
        count(part.delta);
        break;
      case 'tool-call': {
        if (part.providerExecuted === true) break;
        if (callIds.size >= maxCalls) throw tooMuch(`${maxCalls} calls`);
        count(part.input);
        const id = freshId(part.toolCallId, callIds);
        const provider = json(part.providerMetadata);
        yield {
          kind: 'function-call',
          id,
          name: part.toolName,
          ...parseArguments(part.input),
          ...(provider !== undefined && { provider }),
        };
        break;
      }
      case 'file': {
        const provider = json(part.providerMetadata);
        const encoded = base64(part.data);
        if (encoded instanceof URL) {
          yield { kind: 'text', text: encoded.href };
          break;
        }
        count(encoded);
        yield {
          kind: 'blob',
          mediaType: part.mediaType,
          data: encoded,
          ...(provider !== undefined && { provider }),
        };
        break;
      }
      case 'error':
        throw part.error;
      case 'finish': {
        const { unified } = part.finishReason;
        if (unified === 'interrupted') throw cutOff(name);
        if (unified === 'error')
          throw new ModelError('failed', `${name} failed in the middle of its answer`);
        for (const id of open.keys()) yield* close(id);
        const reason: FinishReason =
          unified === 'stop' && callIds.size > 0 ? 'tool-calls' : unified;
        yield { kind: 'finish', reason, ...usageOf(part.usage) };
        return;
      }
      default:
      // Pings, sources, raw events and what the vendor did by itself: nothing that an agent acts on.
    }
  }
}

interface Patience {
  /** Aborted when the caller's is, or when the time is up; its reason says which. */
  readonly signal: AbortSignal;
  /** What the promise gives, unless the signal is aborted first or it takes too long. */
  forStep<T>(step: PromiseLike<T>): Promise<T>;
  /** The vendor's first event is there. */
  readonly heard: () => void;
  end(): void;
}

function patience(name: string, signal: AbortSignal, options: ProviderOptions): Patience {
  const { idleTimeoutMs = IDLE_TIMEOUT_MS, timeoutMs = TIMEOUT_MS } = options;
  const { firstEventTimeoutMs = idleTimeoutMs } = options;
  const lifetime = new AbortController();
  let leave: ((reason: unknown) => void) | undefined;
  const stop = (reason: unknown): void => {
    lifetime.abort(reason);
    leave?.(reason);
  };
  const timeOut = (what: string): void =>
    stop(new ModelError('timeout', `${name} ${what}: ask again, or later`, { retryable: true }));
  const onAbort = (): void => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  const overall = setTimeout(timeOut, timeoutMs, `did not finish its answer in ${timeoutMs} ms`);
  const begin = `did not begin to answer in ${firstEventTimeoutMs} ms`;
  const first = setTimeout(timeOut, firstEventTimeoutMs, begin);
  return {
    signal: lifetime.signal,
    heard: () => clearTimeout(first),
    forStep<T>(step: PromiseLike<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        const idle = setTimeout(timeOut, idleTimeoutMs, `was silent for ${idleTimeoutMs} ms`);
        leave = (reason) => {
          clearTimeout(idle);
          reject(reason);
        };
        step.then((value) => {
          clearTimeout(idle);
          resolve(value);
        }, leave);
        if (lifetime.signal.aborted) leave(lifetime.signal.reason);
      });
    },
    end() {
      clearTimeout(overall);
      clearTimeout(first);
      signal.removeEventListener('abort', onAbort);
      leave = undefined;
      // Closes the connection of an answer that nobody reads to its end.
      lifetime.abort(new Error('the answer was left'));
    },
  };
}

/** Of what a vendor's package may leave out of a request, what would change the answer. */
const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'a temperature',
  maxOutputTokens: 'so many tokens of output',
  topP: 'top-p',
  stopSequences: 'stop sequences',
  seed: 'a seed',
  frequencyPenalty: 'a frequency penalty',
  presencePenalty: 'a presence penalty',
  responseFormat: 'a JSON schema for its answer',
  toolChoice: 'a choice of tools',
  tools: 'tools',
};

function refuseLosses(
  warnings: Extract<StreamPart, { type: 'stream-start' }>['warnings'],
  name: string,
): void {
  const lost = warnings.flatMap((warning) =>
    warning.type === 'unsupported' ? (SETTINGS[warning.feature] ?? []) : [],
  );
  if (lost.length === 0) return;
  throw new ModelError(
    'invalid-request',
    `${name} does not take ${[...new Set(lost)].join(', ')}: leave it out`,
  );
}

/** What a model wrote as arguments; never throws. */
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

/** Responses are matched by the call's id, so it has to be one, and the only one. */
function freshId(id: string, taken: Set<string>): string {
  const usable = id !== '' && id.length <= MAX_CALL_ID_CHARS && !taken.has(id);
  const fresh = usable ? id : `call_${crypto.randomUUID()}`;
  taken.add(fresh);
  return fresh;
}

/** A file's bytes, in either version's form; or where it is. */
function base64(data: Extract<StreamPart, { type: 'file' }>['data']): string | URL {
  if (typeof data === 'string') return data;
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  return data.type === 'url' ? data.url : base64(data.data);
}

/** Whether a vendor's count is one: budgets are held against it. */
export function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Nothing where the vendor did not count, or says what cannot be. */
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

/** Vendor by vendor, what was said last counts. */
function merge(
  before: JsonObject | undefined,
  now: JsonObject | undefined,
): JsonObject | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  const merged: Record<string, JsonObject> = {};
  for (const vendor of new Set([...Object.keys(before), ...Object.keys(now)])) {
    merged[vendor] = { ...object(before[vendor]), ...object(now[vendor]) };
  }
  return merged;
}

/** As plain JSON: it is stored with the conversation. */
function json(metadata: unknown): JsonObject | undefined {
  if (metadata === undefined) return undefined;
  const plain: unknown = JSON.parse(JSON.stringify(metadata));
  if (!isJsonObject(plain)) return undefined;
  const vendors = Object.entries(plain).filter(([, own]) => Object.keys(object(own)).length > 0);
  return vendors.length > 0 ? Object.fromEntries(vendors) : undefined;
}

function object(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
