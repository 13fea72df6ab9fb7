/** Converts a schema of Google's API to JSON Schema. Google's schemas are a variant of OpenAPI's. */
import { isObject, type JsonObject, type JsonValue } from '../../../base/index.ts';

const MAX_DEPTH = 64;
/** Keywords whose values are numbers. Clients may send these numbers as strings. */
const NUMBERS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
/** Keywords that are removed, because JSON Schema does not have them. `withNull` replaces `nullable`. */
const REMOVED = new Set(['propertyOrdering', 'example', 'nullable']);
/** Formats that are removed, because JSON Schema does not have them. */
const FORMATS = /^(?:enum|int32|int64|float|double)$/;

/** Returns the JSON Schema. A schema that is nested too deeply becomes an empty schema, which accepts every value. */
export function jsonSchemaOf(schema: JsonObject, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const named = Object.entries(schema).map(([key, value]) => [camel(key), value] as const);
  const isNullable = named.some(([key, value]) => key === 'nullable' && value === true);
  const entries = named.flatMap(([key, value]): [string, JsonValue][] => {
    if (value === null || REMOVED.has(key)) return [];
    if (key === 'type') return typeOf(value);
    if (key === 'format' && typeof value === 'string' && FORMATS.test(value)) return [];
    if (NUMBERS.has(key)) return [[key, Number(value)]];
    if (key === 'properties' && isObject(value)) return [[key, eachOf(value, depth)]];
    if (key === 'default' || key === 'enum') return [[key, value]];
    if (Array.isArray(value)) {
      const items: readonly JsonValue[] = value;
      return [[key, items.map((item) => nested(item, depth))]];
    }
    return [[key, nested(value, depth)]];
  });
  const converted: JsonObject = Object.fromEntries(entries);
  return isNullable ? withNull(converted) : converted;
}

function typeOf(type: JsonValue): [string, JsonValue][] {
  if (Array.isArray(type)) {
    const types: readonly JsonValue[] = type;
    return [['type', types.map((name) => (typeof name === 'string' ? name.toLowerCase() : name))]];
  }
  if (typeof type !== 'string') return [['type', type]];
  return type === 'TYPE_UNSPECIFIED' ? [] : [['type', type.toLowerCase()]];
}

/** Returns a JSON Schema that also accepts `null`. Extends `type`, `enum` and `anyOf`, which could exclude `null`. */
function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema;
  return {
    ...schema,
    ...(type !== undefined && { type: including(type, 'null') }),
    ...(Array.isArray(values) && { enum: including(values, null) }),
    ...(Array.isArray(anyOf) && { anyOf: [...anyOf, { type: 'null' }] }),
  };
}

/** Returns `value` as a list that also contains `added`. */
function including(value: JsonValue, added: string | null): JsonValue[] {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  return list.includes(added) ? [...list] : [...list, added];
}

/** Converts the schemas of properties. Keeps their names, because the client has chosen them. */
function eachOf(schemas: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, nested(schema, depth)]),
  );
}

function nested(value: JsonValue, depth: number): JsonValue {
  return isObject(value) ? jsonSchemaOf(value, depth + 1) : value;
}

/** Returns a name in camelCase. */
export function camel(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
