/**
 * The interface of a language model. A model gets a conversation and returns a stream of chunks.
 *
 * models/ has the built-in models: those of vendors (through the AI SDK), `scripted` and `offline`.
 */
import type { JsonObject } from '../base/index.ts';
import type {
  BlobPart,
  Content,
  FunctionCallPart,
  TextContentPart,
  ThoughtPart,
} from './content.ts';
import type { Usage } from './event.ts';

/** The description of a tool for a model. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of the arguments. Its type is `object`. */
  readonly parameters: JsonObject;
  /**
   * Whether the vendor must ensure that the arguments match the schema. Vendors without this feature ignore the
   * field.
   */
  readonly strict?: boolean;
}

/** A tool that the vendor runs itself, such as `google.google_search`. */
export interface ProviderTool {
  readonly id: `${string}.${string}`;
  readonly name: string;
  readonly args: JsonObject;
}

/** One request to a model. */
export interface ModelRequest {
  readonly system?: string;
  /** The conversation. Each function call in it is followed by its response. */
  readonly messages: readonly Content[];
  readonly tools?: readonly ToolDeclaration[];
  /**
   * Whether the model calls tools. With `auto`, the model decides. With `none`, it must answer with text. With
   * `required`, it must call a tool. With `{ tool }`, it must call this tool. Default: `auto`.
   */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** The number of most likely tokens from which the model chooses. Vendors without this setting ignore it. */
  readonly topK?: number;
  /** Stop sequences. The answer ends before the first occurrence of one of these texts. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The schema of the answer. If it is set, the answer must be JSON. */
  readonly outputSchema?: JsonObject;
  /** Whether the answer must be JSON. In contrast to `outputSchema`, the structure of the JSON is not specified. */
  readonly json?: true;
  /** The amount of thinking. Models that do not think ignore it. Models with fewer levels use a similar level. */
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** Whether to request the model's thoughts from the vendor. Default: the setting of the model. */
  readonly thoughts?: boolean;
  /** The length of the answer. Vendors without this setting ignore it. */
  readonly verbosity?: 'low' | 'medium' | 'high';
  /** False to request the complete answer at once, for models that cannot stream. */
  readonly streaming?: false;
  /** False to allow at most one tool call per answer. Further calls of the model are dropped. */
  readonly parallelToolCalls?: boolean;
  /**
   * Whether the model may search the web with the vendor's own search. Vendors without a search ignore this setting.
   * The last chunk of the answer lists the pages that were found.
   */
  readonly webSearch?: boolean;
}

/** The reason why an answer ended. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

/** One chunk of a streamed answer, by `kind`. */
export type ModelChunk =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FunctionCallPart
  /** The last chunk of every answer. If an answer is interrupted before this chunk, the stream throws an error. */
  | {
      readonly kind: 'finish';
      readonly reason: FinishReason;
      readonly usage?: Usage;
      /** The pages that the vendor's web search has found, without duplicates. Only for requests with `webSearch`. */
      readonly sources?: readonly WebSource[];
    };

/** A page that a web search has found. */
export interface WebSource {
  readonly url: string;
  readonly title?: string;
}

/**
 * A language model. `model('google:gemini-3-flash')` creates a model by its name.
 *
 *   for await (const chunk of model.generate({ messages: [userContent('Hello')] }, signal)) console.log(chunk);
 */
export interface Model {
  /** The name as on the command line, such as `google:gemini-3-flash`. */
  readonly name: string;
  /** The size of the context window in tokens, or undefined if it is unknown. */
  readonly contextWindow?: number;
  /**
   * Asks the server for the size of the context window, for models whose size is unknown. Afterwards `contextWindow`
   * has the size, if the server has reported it. Rejects only if the signal is aborted.
   */
  findContextWindow?(signal: AbortSignal): Promise<void>;
  /** Whether the model can search the web itself (`webSearch` in a request). */
  readonly searchesWeb?: boolean;
  /** Throws a ModelError if a request cannot succeed, for example because the key is missing. */
  check?(): void;
  /**
   * Checks whether the vendor has this model. If the vendor does not have it, throws a ModelError that suggests similar
   * names. Also throws a ModelError if `check` would throw, or if a model server on this machine does not answer. If
   * the check is not possible for another reason, resolves without an error.
   */
  checkName?(signal: AbortSignal): Promise<void>;
  /**
   * Streams one answer. May throw a ModelError, even after some chunks. After an abort, throws the signal's reason.
   */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelChunk>;
}

/** The reason why a model failed. */
export type ModelErrorCode =
  | 'no-key'
  | 'bad-key'
  | 'not-found'
  | 'invalid-request'
  | 'too-long'
  /** The account has no credit or quota left. A retry does not help. */
  | 'no-credit'
  | 'rate-limit'
  | 'overloaded'
  | 'unreachable'
  | 'timeout'
  /** The stream was interrupted. */
  | 'cut-off'
  | 'refused'
  /** The script of a scripted model has no response left. */
  | 'exhausted'
  | 'failed';

/**
 * The error of a model. The message says what is wrong and, where possible, what to do. It contains no headers, and
 * known keys are removed from it.
 *
 *   if (error instanceof ModelError && error.retryable) await retryLater(error.retryAfterMs);
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: ModelErrorCode;
  readonly status: number | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** The vendor's own code of the error, for example `context_length_exceeded`. */
  readonly vendorCode: string | undefined;
  /**
   * The size of the model's context window in tokens, if the conversation was too long and the error names the size.
   */
  readonly contextWindow: number | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      readonly status?: number | undefined;
      readonly retryable?: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly vendorCode?: string | undefined;
      readonly contextWindow?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.vendorCode = options.vendorCode;
    this.contextWindow = options.contextWindow;
  }
}
