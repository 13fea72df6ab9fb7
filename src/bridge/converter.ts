/**
 * Converts between the parts of A2A and those of the framework. The functions have no side effects and never throw.
 *
 *   framework                 A2A
 *   text                      text
 *   thought                   text, marked with `parley.thought: true`; not sent if `exposeThoughts` is false
 *   blob (base64)             file with bytes
 *   file (a URI)              file with a URI
 *   data                      data
 *   function call, response   not sent; with `exposeToolCalls` a data part, marked with `parley.functionCall: true` or
 *                             `parley.functionResponse: true`, followed by the response's files with the same mark
 *
 * Parts from a peer are only content. A text that is marked as a thought becomes a thought. No other metadata has an
 * effect, and a data part stays data. So a peer cannot make or answer a call, transfer the conversation, or set
 * state. The metadata of model vendors (`provider`) is never sent to a peer.
 *
 * In A2A 1.0, data may be a value that is not an object. Such a value becomes `{ value }`. Bytes without a media type
 * get `application/octet-stream`. A2A 0.3 also accepts base64url, which is converted to standard base64.
 */
import {
  defined,
  isObject,
  UNKNOWN_MEDIA_TYPE,
  type JsonObject,
  type JsonValue,
} from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import { type Message, type Part as A2APart } from '../protocol/index.ts';
import type {
  BlobPart,
  Content,
  DataContentPart,
  FileContentPart,
  FunctionResponsePart,
  ContentPart,
  TextContentPart,
  ThoughtPart,
} from '../agent/index.ts';

/** The metadata keys that this bridge sets on parts. In received parts, it reads only `thought`. */
export const MARKS = {
  thought: 'parley.thought',
  functionCall: 'parley.functionCall',
  functionResponse: 'parley.functionResponse',
} as const;

/** The parts that a peer can send. They include neither calls nor responses. */
export type ReceivedPart =
  | TextContentPart
  | ThoughtPart
  | BlobPart
  | FileContentPart
  | DataContentPart;

/** Options that decide whether clients see thoughts and tool calls. */
export interface ConverterOptions {
  /** Whether thoughts are sent. Default: true. */
  readonly exposeThoughts?: boolean | undefined;
  /** Whether function calls and responses are sent. Default: false. */
  readonly exposeToolCalls?: boolean | undefined;
}

/** Converts parts of the framework to parts for a peer. */
export function toA2AParts(
  parts: readonly ContentPart[],
  options: ConverterOptions = {},
): A2APart[] {
  return parts.flatMap((part) => toA2APart(part, options));
}

/** Converts parts from a peer to parts of the framework. Invalid parts are left out. */
export function fromA2AParts(parts: readonly A2APart[]): ReceivedPart[] {
  return parts.flatMap((part) => fromA2APart(part) ?? []);
}

/** Converts a message of the framework to an A2A message. Returns undefined if no part of it may be sent to a peer. */
export function toA2AMessage(content: Content, options?: ConverterOptions): Message | undefined {
  const parts = toA2AParts(content.parts, options);
  if (parts.length === 0) return undefined;
  const role = content.role === 'model' ? 'agent' : 'user';
  return { kind: 'message', messageId: randomUUIDv7(), role, parts };
}

/** Converts an A2A message to a message of the framework. */
export function fromA2AMessage(message: Pick<Message, 'role' | 'parts'>): Content & {
  readonly parts: readonly ReceivedPart[];
} {
  return {
    role: message.role === 'agent' ? 'model' : 'user',
    parts: fromA2AParts(message.parts),
  };
}

function toA2APart(part: ContentPart, options: ConverterOptions): A2APart[] {
  switch (part.kind) {
    case 'text':
      return [{ kind: 'text', text: part.text }];
    case 'thought':
      if (options.exposeThoughts === false) return [];
      return [{ kind: 'text', text: part.text, metadata: { [MARKS.thought]: true } }];
    case 'blob':
    case 'file':
      return [fileOf(part)];
    case 'data':
      return [{ kind: 'data', data: part.data }];
    case 'function-call': {
      if (options.exposeToolCalls !== true) return [];
      const { id, name, args } = part;
      return [{ kind: 'data', data: { id, name, args }, metadata: { [MARKS.functionCall]: true } }];
    }
    case 'function-response':
      return options.exposeToolCalls === true ? responseOf(part) : [];
    default:
      return [];
  }
}

function fileOf(part: BlobPart | FileContentPart): A2APart {
  const { mediaType: mimeType, name } = part;
  const where = part.kind === 'blob' ? { bytes: part.data } : { uri: part.uri };
  return { kind: 'file', file: { ...where, ...defined({ mimeType, name }) } };
}

function responseOf({ id, name, response, isError, parts = [] }: FunctionResponsePart): A2APart[] {
  const metadata = { [MARKS.functionResponse]: true };
  const data = { id, name, response, ...(isError === true && { isError }) };
  return [
    { kind: 'data', data, metadata },
    ...parts.map((part): A2APart => ({ ...fileOf(part), metadata })),
  ];
}

/** Converts a part from a peer. Returns undefined for an invalid part. */
function fromA2APart(part: A2APart): ReceivedPart | undefined {
  switch (part.kind) {
    case 'text': {
      const kind = part.metadata?.[MARKS.thought] === true ? 'thought' : 'text';
      return { kind, text: part.text };
    }
    case 'file': {
      const { bytes, uri, mimeType, name } = part.file;
      if (bytes !== undefined) {
        const mediaType = mimeType ?? UNKNOWN_MEDIA_TYPE;
        return { kind: 'blob', mediaType, data: plainBase64(bytes), ...defined({ name }) };
      }
      if (uri === undefined) return undefined;
      return { kind: 'file', uri, ...defined({ mediaType: mimeType, name }) };
    }
    case 'data':
      return { kind: 'data', data: objectOf(part.data) };
    default:
      return undefined;
  }
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function plainBase64(bytes: string): string {
  const plain = bytes.length % 4 === 0 && BASE64.test(bytes);
  return plain ? bytes : Buffer.from(bytes, 'base64').toString('base64');
}

function objectOf(data: unknown): JsonObject {
  // Data from a codec is JSON, although its type is `unknown`.
  return isObject(data) ? (data as JsonObject) : { value: data as JsonValue };
}
