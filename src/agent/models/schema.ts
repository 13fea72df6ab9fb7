/**
 * Converts JSON Schemas to a form that every vendor accepts.
 *
 * The AI SDK handles the differences between vendors. This module makes the changes that all vendors need: it makes
 * the root a plain object with properties, and removes keywords that some vendors refuse. The result is never
 * stricter than the original. This is sufficient, because the tool validates its arguments itself.
 */
import { type JsonObject, type JsonValue, isObject } from '../../base/index.ts';

const MAX_DEPTH = 64;
const REMOVED = new Set(['$schema', '$id', '$comment', '~standard', 'propertyNames']);

/** Converts the schema of a tool's arguments. */
export function toolSchema(schema: JsonObject): JsonObject {
  const root = clean(schema, 0);
  const { anyOf, oneOf, allOf, ...rest } = root;
  const variants = [anyOf, oneOf, allOf].find(Array.isArray)?.filter(isJsonObject) ?? [];
  return {
    ...rest,
    type: 'object',
    properties: Object.assign(
      {},
      ...variants.map((variant) => variant['properties']),
      rest['properties'],
    ),
    ...(variants.length > 0 && { required: requiredByAll(rest, variants, Array.isArray(allOf)) }),
  };
}

/** Returns whether a value from parsed JSON is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

/** Converts the schema of an answer. */
export function answerSchema(schema: JsonObject): JsonObject {
  return clean(schema, 0);
}

function clean(schema: JsonObject, depth: number): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const entries: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (REMOVED.has(key) || isSafeIntegerBound(key, value)) continue;
    // An `enum` with one value is equivalent to `const`, and every vendor supports it.
    if (key === 'const') entries.push(['enum', [value]]);
    else if (key === 'properties' || key === '$defs' || key === 'definitions') {
      entries.push([key, isObject(value) ? cleanEach(value, depth) : {}]);
    } else if (key === 'default' || key === 'enum' || key === 'examples')
      entries.push([key, value]);
    else if (isObject(value)) entries.push([key, clean(value, depth + 1)]);
    else if (Array.isArray(value)) {
      const items: readonly JsonValue[] = value;
      entries.push([key, items.map((item) => (isObject(item) ? clean(item, depth + 1) : item))]);
    } else entries.push([key, value]);
  }
  return Object.fromEntries(entries);
}

/** Converts a map of schemas. Its keys are names and not keywords. */
function cleanEach(schemas: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      isObject(schema) ? clean(schema, depth + 1) : schema,
    ]),
  );
}

/** Returns whether the keyword is one of the bounds that zod adds to every integer. */
function isSafeIntegerBound(key: string, value: JsonValue): boolean {
  return (
    (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
    (key === 'maximum' && value === Number.MAX_SAFE_INTEGER)
  );
}

function requiredByAll(root: JsonObject, variants: readonly JsonObject[], all: boolean): string[] {
  const lists = variants.map((variant) => names(variant['required']));
  const [first = [], ...others] = lists;
  const shared = all
    ? lists.flat()
    : first.filter((name) => others.every((list) => list.includes(name)));
  return [...new Set([...names(root['required']), ...shared])];
}

function names(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}
