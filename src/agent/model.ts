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

/** A tool as a model sees it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of the arguments. Its type is `object`. */
  readonly parameters: JsonObject;
  /** Whether the vendor must make sure that the arguments match the schema. Vendors without this feature ignore it. */
  readonly strict?: boolean;
}

/** One request to a model. */
export interface ModelRequest {
  readonly system?: string;
  /** The conversation. Each function call in it is followed by its response. */
  readonly messages: readonly Content[];
  readonly tools?: readonly ToolDeclaration[];
  /**
   * Whether the model calls tools. `none`: it must answer with text. `required`: it must call a tool. `tool`: it must
   * call this tool. Default: `auto`.
   */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** The number of most likely tokens from which the model chooses. Vendors without this setting ignore it. */
  readonly topK?: number;
  /** Stop sequences. The answer ends before the first of these texts that occurs. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The answer must be JSON that matches this schema. */
  readonly outputSchema?: JsonObject;
  /** The answer must be JSON, with any structure. */
  readonly json?: true;
  /** How much the model thinks. Models that do not think, or that have fewer levels, ignore it or use a near level. */
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** Whether the vendor is asked for the model's thoughts. Default: the setting of the model. */
  readonly thoughts?: boolean;
  /** How long the answer is. Vendors without this setting ignore it. */
  readonly verbosity?: 'low' | 'medium' | 'high';
  /** False: the vendor is asked for the whole answer at once, because the model cannot stream. */
  readonly streaming?: false;
  /** False: at most one tool call per answer. Further calls of the model are dropped. */
  readonly parallelToolCalls?: boolean;
}

/** The reason why an answer ended. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

/** One chunk of a streamed answer, by `kind`. */
export type ModelChunk =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FunctionCallPart
  /** Always the last chunk. A stream that is interrupted before this chunk throws an error. */
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly usage?: Usage };

/**
 * A language model. `model('google:gemini-3-flash')` creates a model by its name.
 *
 *   for await (const chunk of model.generate({ messages: [userContent('Hello')] }, signal)) console.log(chunk);
 */
export interface Model {
  /** The name, as it is given on the command line: `google:gemini-3-flash`. */
  readonly name: string;
  /** The size of the context window in tokens, if it is known. */
  readonly contextWindow?: number;
  /** Throws a ModelError if a request cannot succeed, for example because the key is missing. */
  check?(): void;
  /**
   * Asks the vendor whether it has this model. Throws a ModelError with similar names if it does not. Resolves if the
   * vendor cannot be asked.
   */
  checkName?(signal: AbortSignal): Promise<void>;
  /**
   * Streams one answer. May throw a ModelError, even after some chunks. After an abort it throws the signal's reason.
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
  | 'exhausted'
  | 'failed';

/**
 * A model failed. The message is one line and says what to do. It never contains keys or headers.
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

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      readonly status?: number | undefined;
      readonly retryable?: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly vendorCode?: string | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.vendorCode = options.vendorCode;
  }
}
