/**
 * The interface of a language model: from a conversation to a stream of chunks.
 *
 * models/ has the built-in models: those of vendors (through the `ai` provider interface), `scripted` and `offline`.
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
  /** The arguments: a JSON Schema of type `object`. */
  readonly parameters: JsonObject;
}

/** One request to a model. */
export interface ModelRequest {
  readonly system?: string;
  /** Each function call is followed by its response. */
  readonly messages: readonly Content[];
  readonly tools?: readonly ToolDeclaration[];
  /** `none`: answer with text; `required`: call any tool; a name: call this tool. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** The answer ends before any of these texts. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The answer is JSON of this schema. */
  readonly outputSchema?: JsonObject;
  /** The answer is JSON of any shape. */
  readonly json?: true;
}

/** Why an answer ended. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

/** One chunk of a streamed answer, by `kind`. */
export type ModelChunk =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FunctionCallPart
  /** Always the last chunk. A stream that ends without it was interrupted, and throws. */
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly usage?: Usage };

/**
 * A language model. `model('google:gemini-3-flash')` makes one by name.
 *
 *   for await (const chunk of model.generate({ messages: [userContent('Hello')] }, signal)) console.log(chunk);
 */
export interface Model {
  /** The name as on the command line: `google:gemini-3-flash`. */
  readonly name: string;
  /** In tokens, if known. */
  readonly contextWindow?: number;
  /** Throws a ModelError if a request cannot succeed, for example without a key. */
  check?(): void;
  /** Streams one answer. Throws a ModelError, also in the middle, or the signal's reason after an abort. */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelChunk>;
}

/** Why a model failed. */
export type ModelErrorCode =
  | 'no-key'
  | 'bad-key'
  | 'not-found'
  | 'invalid-request'
  | 'too-long'
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
  /** The same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      readonly status?: number | undefined;
      readonly retryable?: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}
