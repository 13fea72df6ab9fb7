import type { JsonObject, JsonValue } from '../base/index.ts';
/**
 * What people, models and tools say to each other, independent of any vendor.
 *
 * A part that came from a model may carry `provider`: what its vendor wants back unchanged in the next request (the
 * signature of a thought, for example). Nobody else looks into it.
 */

export interface TextContentPart {
  readonly kind: 'text';
  readonly text: string;
  readonly provider?: JsonObject;
}

/** What a model thought before it spoke. Shown to people who want it, never taken for the answer. */
export interface ThoughtPart {
  readonly kind: 'thought';
  readonly text: string;
  readonly provider?: JsonObject;
}

/** Bytes, in base64. */
export interface BlobPart {
  readonly kind: 'blob';
  readonly mediaType: string;
  readonly data: string;
  readonly name?: string;
  readonly provider?: JsonObject;
}

/** A file that lies elsewhere. */
export interface FileContentPart {
  readonly kind: 'file';
  readonly uri: string;
  readonly mediaType?: string;
  readonly name?: string;
  readonly provider?: JsonObject;
}

/** Structured data that is neither a call nor its response. A model reads it as JSON text. */
export interface DataContentPart {
  readonly kind: 'data';
  readonly data: JsonObject;
}

export interface FunctionCallPart {
  readonly kind: 'function-call';
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** What the model wrote is no JSON object; `args` is empty then, and this says what is wrong. */
  readonly problem?: string;
  readonly provider?: JsonObject;
}

export interface FunctionResponsePart {
  readonly kind: 'function-response';
  /** The call's id. */
  readonly id: string;
  readonly name: string;
  readonly response: JsonValue;
  readonly isError?: boolean;
  /** Pictures and files beside the response. */
  readonly parts?: readonly (BlobPart | FileContentPart)[];
  /** What people are shown instead of the response. A model never sees it. */
  readonly display?: JsonValue;
}

export type ContentPart =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FileContentPart
  | DataContentPart
  | FunctionCallPart
  | FunctionResponsePart;

export interface Content {
  /** `user`: from outside, tool responses included. `model`: from an agent. */
  readonly role: 'user' | 'model';
  readonly parts: readonly ContentPart[];
}

/** The words of a content, without thoughts. */
export function contentText(content: Content | undefined): string {
  let text = '';
  for (const part of content?.parts ?? []) if (part.kind === 'text') text += part.text;
  return text;
}

/** What a person said, as a content. */
export function userContent(said: string | readonly ContentPart[] | Content): Content {
  if (typeof said === 'string') return { role: 'user', parts: [{ kind: 'text', text: said }] };
  return 'role' in said ? said : { role: 'user', parts: said };
}

export function functionCalls(content: Content | undefined): FunctionCallPart[] {
  return (content?.parts ?? []).filter((part) => part.kind === 'function-call');
}

export function functionResponses(content: Content | undefined): FunctionResponsePart[] {
  return (content?.parts ?? []).filter((part) => part.kind === 'function-response');
}
