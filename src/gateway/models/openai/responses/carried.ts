/**
 * Vendor metadata in `encrypted_content`. A client sends reasoning items back unchanged, so they carry the signatures
 * that vendors require in the next request: those of thoughts, and those of calls, for which the API has no field.
 */
import { type JsonObject, isObject } from '../../../../base/index.ts';

export interface Carried {
  readonly provider: JsonObject;
  /** The call that the metadata belongs to. Undefined: it belongs to the thought. */
  readonly callId?: string | undefined;
}

const PREFIX = 'parley1.';
/** The fields that a client may send back. Others could change the request. */
const FIELDS = new Set([
  'signature',
  'redactedData',
  'thoughtSignature',
  'itemId',
  'reasoningEncryptedContent',
]);

export function encode(carried: Carried): string {
  return PREFIX + Buffer.from(JSON.stringify(carried)).toString('base64url');
}

/** Whether `encode` has made the text. */
export function isCarried(text: string | null | undefined): text is string {
  return text?.startsWith(PREFIX) === true;
}

/** Decodes `encrypted_content` that `encode` has made, or that comes from OpenAI. */
export function decode(text: string, itemId: string | undefined): Carried | undefined {
  if (!isCarried(text)) {
    const own = { reasoningEncryptedContent: text, ...(itemId !== undefined && { itemId }) };
    return { provider: { openai: own } };
  }
  try {
    const value: unknown = JSON.parse(
      Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8'),
    );
    if (!isObject(value) || !isObject(value['provider'])) return undefined;
    const provider = Object.fromEntries(
      Object.entries(value['provider']).map(([vendor, own]) => [vendor, known(own)]),
    );
    const { callId } = value;
    return { provider, ...(typeof callId === 'string' && { callId }) };
  } catch {
    return undefined;
  }
}

function known(own: unknown): JsonObject {
  const entries = isObject(own) ? Object.entries(own) : [];
  return Object.fromEntries(
    entries.filter(
      (entry): entry is [string, string] => FIELDS.has(entry[0]) && typeof entry[1] === 'string',
    ),
  );
}
