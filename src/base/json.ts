/** JSON values and plain objects. */

/** A value that JSON can represent. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
/** An object of JSON values. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Returns whether the value is an object and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns a copy without the members that are undefined. When the copy is spread over defaults, the defaults of the
 * missing members are kept.
 *
 *     const settings = { retries: 3, ...defined(options) };
 */
export function defined<T extends object>(
  values: T | undefined,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const copy: Partial<T> = {};
  for (const name in values) {
    if (values[name] !== undefined && Object.hasOwn(values, name)) copy[name] = values[name];
  }
  return copy as { [K in keyof T]: Exclude<T[K], undefined> };
}

/**
 * Returns the JSON with U+0085, U+2028 and U+2029 escaped. JSON may contain these characters, but some programs treat
 * them as the end of a line in an event stream. An example is httpx-sse before 0.4.2.
 */
export function lineSafe(json: string): string {
  return SEPARATOR.test(json) ? json.replaceAll(SEPARATORS, escaped) : json;
}

const SEPARATOR = /[\u0085\u2028\u2029]/;
const SEPARATORS = /[\u0085\u2028\u2029]/g;

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
