/**
 * Messages between people, models and tools, independent of any vendor.
 *
 * A part from a model may have the field `provider`. It contains data that must be sent back to the vendor unchanged in
 * the next request, such as the signature of a thought. The framework does not interpret this data.
 */
import type { JsonObject, JsonValue } from '../base/index.ts';
import type { ToolErrorDetails } from './tool-error.ts';

/** Text: `{ kind: 'text', text: 'Hello' }`. */
export interface TextContentPart {
  readonly kind: 'text';
  readonly text: string;
  readonly provider?: JsonObject;
}

/** A model's reasoning before its answer. It is never part of the answer. */
export interface ThoughtPart {
  readonly kind: 'thought';
  readonly text: string;
  readonly provider?: JsonObject;
}

/** Bytes in base64, such as an image. */
export interface BlobPart {
  readonly kind: 'blob';
  readonly mediaType: string;
  readonly data: string;
  readonly name?: string;
  readonly provider?: JsonObject;
}

/** A file at a URI. */
export interface FileContentPart {
  readonly kind: 'file';
  readonly uri: string;
  readonly mediaType?: string;
  readonly name?: string;
  readonly provider?: JsonObject;
}

/** Structured data other than a call or a response. Models get it as JSON text. */
export interface DataContentPart {
  readonly kind: 'data';
  readonly data: JsonObject;
}

/** A tool call of a model. */
export interface FunctionCallPart {
  readonly kind: 'function-call';
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** An error message if the model's arguments are not a JSON object. In this case, `args` is empty. */
  readonly problem?: string;
  readonly provider?: JsonObject;
}

/** The response to a tool call. */
export interface FunctionResponsePart {
  readonly kind: 'function-response';
  /** The id of the call. */
  readonly id: string;
  readonly name: string;
  readonly response: JsonValue;
  readonly isError?: boolean;
  /** The type of the error, for programs. Models never see it. */
  readonly error?: ToolErrorDetails;
  /** Images and files in addition to the response. */
  readonly parts?: readonly (BlobPart | FileContentPart)[];
  /** A value that people see instead of the response. Models never see it. */
  readonly display?: JsonValue;
}

/** One part of a message. `kind` distinguishes the types. */
export type ContentPart =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FileContentPart
  | DataContentPart
  | FunctionCallPart
  | FunctionResponsePart;

/**
 * A message: `{ role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }`. `userContent('Hello')` returns the same.
 */
export interface Content {
  /** The sender. `user`: a message from outside the agent, or tool responses. `model`: a message from an agent. */
  readonly role: 'user' | 'model';
  readonly parts: readonly ContentPart[];
}

/**
 * Returns the text of a message, without thoughts.
 *
 *   contentText(userContent('Hello')); // 'Hello'
 */
export function contentText(content: Content | undefined): string {
  let text = '';
  for (const part of content?.parts ?? []) if (part.kind === 'text') text += part.text;
  return text;
}

/**
 * Makes a user message from text or parts. If a complete message is given, returns it unchanged.
 *
 *   userContent([{ kind: 'file', uri: 'https://example.org/plan.pdf' }]);
 */
export function userContent(said: string | readonly ContentPart[] | Content): Content {
  if (typeof said === 'string') return { role: 'user', parts: [{ kind: 'text', text: said }] };
  return 'role' in said ? said : { role: 'user', parts: said };
}

/** Returns the tool calls in a message. */
export function functionCalls(content: Content | undefined): FunctionCallPart[] {
  return (content?.parts ?? []).filter((part) => part.kind === 'function-call');
}

/** Returns the tool responses in a message. */
export function functionResponses(content: Content | undefined): FunctionResponsePart[] {
  return (content?.parts ?? []).filter((part) => part.kind === 'function-response');
}
