/**
 * Converts the result of a function to JSON, and a thrown value to text, for models and stores.
 *
 * The conversion never fails. Values that JSON cannot represent are converted to text or null, or left out. If a text
 * is too long, only its start and its end are kept.
 */
import { elide, type JsonObject, type JsonValue } from '../base/index.ts';

/**
 * Maximum length of a response: the characters of a text, or of the JSON of any other value. This is about 25,000
 * tokens. The note in a shortened response does not count.
 */
export const MAX_RESPONSE_LENGTH = 100_000;
const MAX_DEPTH = 100;
/** Maximum number of values that are converted. It limits the time of a conversion. */
const MAX_VALUES = 200_000;
/**
 * Maximum total length of the texts and field names that are converted, in characters. It limits the memory that a
 * conversion needs.
 */
const MAX_CHARS = 16 * 2 ** 20;

/**
 * Converts a value to JSON. A text that is longer than `maxLength` is shortened. Any other value whose JSON text is
 * longer than `maxLength` is replaced by its shortened JSON text.
 */
export function jsonResponse(value: unknown, maxLength = MAX_RESPONSE_LENGTH): JsonValue {
  if (typeof value === 'string') return elide(value, maxLength);
  const json = new Conversion(maxLength).convert(value, 0) ?? null;
  if (typeof json === 'string') return json;
  const text = JSON.stringify(json);
  return text.length > maxLength ? elide(text, maxLength) : json;
}

/** Returns a text from a server for use in a list: on one line, without control characters, and shortened. */
export function listed(text: string, maxLength: number): string {
  return elide(text, maxLength)
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
}

/** Returns the message of any thrown value, shortened so that it can be stored. */
export function messageOf(error: unknown): string {
  try {
    const said: unknown = error instanceof Error ? error.message : error;
    return elide(String(said), MAX_RESPONSE_LENGTH);
  } catch {
    return 'an unreadable value was thrown';
  }
}

class Conversion {
  readonly #maxLength: number;
  /** The objects that contain the current value. They are needed to detect cycles. */
  readonly #above = new Set<object>();
  #values = 0;
  #chars = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Converts a value to JSON. Returns undefined for values that JSON omits, such as functions. */
  convert(value: unknown, depth: number): JsonValue | undefined {
    this.#values++;
    if (typeof value === 'string') this.#chars += Math.min(value.length, this.#maxLength);
    if (this.#isFull) return '[left out]';
    switch (typeof value) {
      case 'string':
        return elide(value, this.#maxLength);
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'boolean':
        return value;
      case 'bigint':
        return String(value);
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return undefined;
    }
  }

  get #isFull(): boolean {
    return this.#values > MAX_VALUES || this.#chars > MAX_CHARS;
  }

  #object(value: object, depth: number): JsonValue | undefined {
    if (this.#above.has(value)) return '[circular]';
    if (depth >= MAX_DEPTH) return '[too deep]';
    this.#above.add(value);
    try {
      return this.#contents(value, depth + 1);
    } catch (error) {
      // The error comes from a getter or from a toJSON method.
      return `[unreadable: ${messageOf(error)}]`;
    } finally {
      this.#above.delete(value);
    }
  }

  #contents(value: object, depth: number): JsonValue | undefined {
    if (value instanceof Error) return this.#fields([['error', value.message]], depth);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      return `[${value.byteLength} bytes]`;
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      return this.convert(value.toJSON(), depth);
    }
    if (Array.isArray(value) || value instanceof Set) return this.#list(value, depth);
    if (value instanceof Map) return this.#fields(value, depth);
    return this.#fields(Object.entries(value), depth);
  }

  #list(items: Iterable<unknown>, depth: number): JsonValue {
    const list: JsonValue[] = [];
    for (const item of items) {
      list.push(this.convert(item, depth) ?? null);
      if (this.#isFull) break;
    }
    return list;
  }

  #fields(entries: Iterable<readonly [unknown, unknown]>, depth: number): JsonObject {
    const fields = new Map<string, JsonValue>();
    for (const [key, item] of entries) {
      const name = String(key);
      this.#chars += name.length;
      const converted = this.convert(item, depth);
      if (converted !== undefined) fields.set(name, converted);
      if (this.#isFull) break;
    }
    return Object.fromEntries(fields);
  }
}
