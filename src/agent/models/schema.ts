/**
 * Converts JSON Schemas to a form that every vendor accepts.
 *
 * The AI SDK handles the differences between vendors. This module makes the changes that all vendors need. It merges
 * `anyOf`, `oneOf` and `allOf` at the root of a tool's schema into one object with properties. References are not
 * resolved. It also removes keywords that some vendors refuse. The result may accept more values than the original.
 * This is sufficient, because the tool validates its arguments itself.
 */
import { type JsonObject, type JsonValue, isObject } from '../../base/index.ts';

const MAX_DEPTH = 64;
const REMOVED = new Set(['$schema', '$id', '$comment', '~standard', 'propertyNames']);

/** Converts the schema of a tool's arguments. */
export function toolSchema(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...rest } = clean(schema, 0);
  const parts = [...objectsIn(allOf), unionOf(objectsIn(anyOf)), unionOf(objectsIn(oneOf)), rest];
  const required = new Set(parts.flatMap(requiredBy));
  return {
    ...rest,
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** Returns the properties of all variants. Only properties that every variant requires are required. */
function unionOf(variants: readonly JsonObject[]): JsonObject {
  const properties = new Map<string, JsonValue[]>();
  for (const variant of variants) {
    for (const [name, schema] of Object.entries(objectOf(variant['properties']))) {
      properties.set(name, [...(properties.get(name) ?? []), schema]);
    }
  }
  const [first, ...others] = variants.map(requiredBy);
  return {
    properties: Object.fromEntries([...properties].map(([name, all]) => [name, anyOfThem(all)])),
    required: first?.filter((name) => others.every((names) => names.includes(name))) ?? [],
  };
}

/**
 * Returns a schema for the values that match at least one of the schemas. Merges schemas that differ only in `enum`.
 */
function anyOfThem(schemas: readonly JsonValue[]): JsonValue {
  const distinct = new Map<string, JsonValue>();
  for (const schema of schemas) {
    const { enum: values, ...rest } = objectOf(schema);
    const key = JSON.stringify(Array.isArray(values) ? [rest] : schema);
    const joined = [...valuesIn(distinct.get(key)), ...valuesIn(schema)];
    distinct.set(key, Array.isArray(values) ? { ...rest, enum: [...new Set(joined)] } : schema);
  }
  const [only, ...others] = distinct.values();
  return only !== undefined && others.length === 0 ? only : { anyOf: [...distinct.values()] };
}

function valuesIn(schema: JsonValue | undefined): readonly JsonValue[] {
  const { enum: values } = objectOf(schema);
  return Array.isArray(values) ? values : [];
}

function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns whether a value from parsed JSON is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

/** Returns a value from parsed JSON if it is an object, and otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
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

function requiredBy({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}
