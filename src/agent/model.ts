/**
 * What a language model is to an agent: a function from a conversation to a stream of pieces.
 *
 * models/ has those that ship: the vendors' (through the `ai` providers' interface), `scripted` and `offline`.
 */
import type { JsonObject } from '../base/index.ts';
import type { Content } from './content.ts';
import type { Usage } from './event.ts';

export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
}

export interface ModelRequest {
  readonly system?: string;
  /** Every function call in it has its response behind it. */
  readonly messages: readonly Content[];
  readonly tools?: readonly ToolDeclaration[];
  /** `none`: speak; `required`: call something; a tool: call this one. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** Texts before which the answer ends. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The answer is JSON of this schema. */
  readonly outputSchema?: JsonObject;
  /** The answer is JSON, whatever its shape. */
  readonly json?: true;
}

export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

export type ModelChunk =
  | { readonly kind: 'text'; readonly text: string; readonly provider?: JsonObject }
  | { readonly kind: 'thought'; readonly text: string; readonly provider?: JsonObject }
  | {
      readonly kind: 'blob';
      readonly mediaType: string;
      readonly data: string;
      readonly provider?: JsonObject;
    }
  | {
      readonly kind: 'function-call';
      readonly id: string;
      readonly name: string;
      readonly args: JsonObject;
      readonly problem?: string;
      readonly provider?: JsonObject;
    }
  /** The last one, always there: a stream that ends without it was cut off, and throws. */
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly usage?: Usage };

export interface Model {
  /** As one writes it on the command line: `google:gemini-3-flash`. */
  readonly name: string;
  /** In tokens, where it is known. */
  readonly contextWindow?: number;
  /** Throws a ModelError where it is known beforehand that nothing will come of it: there is no key. */
  check?(): void;
  /** Streams one answer; throws a ModelError, also in the middle. Once the signal is aborted it throws its reason. */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelChunk>;
}

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
  /** The stream broke off in the middle. */
  | 'cut-off'
  | 'refused'
  | 'exhausted'
  | 'failed';

/** Why there is no answer, in one line that says what to do. Keys and headers never are in it. */
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
