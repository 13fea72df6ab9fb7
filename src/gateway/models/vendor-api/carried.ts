/**
 * Some vendors send signatures with an answer, and require them in the next request. If the client uses another
 * vendor's API, the gateway encodes the signatures and related data as one text. The client gets the text as a
 * signature, or as the encrypted content of a reasoning item, and sends it back unchanged.
 */
import { type JsonObject, isObject } from '../../../base/index.ts';

/** A thought with the vendor's data. */
export interface CarriedThought {
  readonly text: string;
  readonly provider: JsonObject;
}

export interface Carried {
  /** The data of each vendor, by the vendor's name. */
  readonly provider: JsonObject;
  /**
   * The id of the call that the data belongs to. Only the Responses API needs this id, because there the data is in a
   * separate item before the call. Undefined if the data belongs to a thought.
   */
  readonly callId?: string | undefined;
  /** The thoughts before the call, for clients that send only the call back. */
  readonly thoughts?: readonly CarriedThought[] | undefined;
}

const PREFIX = 'parley.';
const MAX_CHARS = 1_000_000;
/** The fields that a client may send back. Other fields are removed, because a client could send anything. */
const FIELDS = new Set([
  'signature',
  'redactedData',
  'thoughtSignature',
  'itemId',
  'reasoningEncryptedContent',
]);

/**
 * Returns the text for the client. The text contains only the fields in FIELDS of each vendor's data. If the text would
 * exceed MAX_CHARS, the thoughts are left out.
 */
export function encodeCarried({ provider, callId, thoughts = [] }: Carried): string {
  const value = {
    ...known(provider),
    ...(callId !== undefined && { callId }),
    ...(thoughts.length > 0 && { thoughts: thoughts.flatMap(thoughtIn) }),
  };
  const text = PREFIX + Buffer.from(JSON.stringify(value)).toString('base64url');
  // Thoughts that are too long are left out, so that the data of the call can still be decoded.
  return text.length > MAX_CHARS && thoughts.length > 0
    ? encodeCarried({ provider, callId })
    : text;
}

/** Returns whether the text has the prefix of `encodeCarried`. It may still be invalid. */
export function isCarried(text: string | null | undefined): text is string {
  return text?.startsWith(PREFIX) === true;
}

/** Returns the data in the text, or undefined if there is no valid data. */
export function decodeCarried(text: string): Carried | undefined {
  if (!isCarried(text) || text.length > MAX_CHARS) return undefined;
  try {
    const value: unknown = JSON.parse(
      Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8'),
    );
    const provider = known(value);
    const { callId, thoughts: given } = isObject(value) ? value : {};
    const thoughts = (Array.isArray(given) ? given : []).flatMap(thoughtIn);
    if (Object.keys(provider).length === 0 && thoughts.length === 0) return undefined;
    return {
      provider,
      ...(typeof callId === 'string' && { callId }),
      ...(thoughts.length > 0 && { thoughts }),
    };
  } catch {
    return undefined;
  }
}

function thoughtIn(value: unknown): readonly CarriedThought[] {
  if (!isObject(value) || typeof value['text'] !== 'string') return [];
  const provider = known(value['provider']);
  return Object.keys(provider).length > 0 ? [{ text: value['text'], provider }] : [];
}

/** Returns the data of each vendor with only the fields in FIELDS. Leaves out vendors without such fields. */
function known(provider: unknown): JsonObject {
  const vendors: Record<string, JsonObject> = {};
  for (const [vendor, own] of isObject(provider) ? Object.entries(provider) : []) {
    const fields = (isObject(own) ? Object.entries(own) : []).filter(
      (entry): entry is [string, string] => FIELDS.has(entry[0]) && typeof entry[1] === 'string',
    );
    if (fields.length > 0) vendors[vendor] = Object.fromEntries(fields);
  }
  return vendors;
}
