/** Makes values of a JSON Schema. */
import { isObject } from '../src/base/index.ts';
import type { Random } from './random.ts';
import { json, number, text, word, type Json } from './values.ts';

type Schemas = Readonly<Record<string, object>>;

/** A valid value, as far as the common keywords say. `schemas` are those that references name. */
export function valueOf(random: Random, schema: unknown, schemas: Schemas, depth = 6): Json {
  if (!isObject(schema) || depth < 0) return json(random, [], 1);
  const { $ref, type } = schema;
  if (typeof $ref === 'string') {
    return valueOf(random, schemas[$ref.split('/').at(-1) ?? ''], schemas, depth - 1);
  }
  if ('const' in schema) return schema['const'] as Json;
  if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as Json[]);
  for (const choice of ['anyOf', 'oneOf', 'allOf']) {
    const list = schema[choice];
    if (Array.isArray(list)) return valueOf(random, random.pick(list), schemas, depth - 1);
  }
  switch (Array.isArray(type) ? random.pick(type) : type) {
    case 'object':
      return objectOf(random, schema, schemas, depth);
    case 'array':
      return random.list(3, () => valueOf(random, schema['items'], schemas, depth - 1));
    case 'integer':
    case 'number':
      return random.once(3) ? number(random) : 1 + random.int(20);
    case 'boolean':
      return random.once(2);
    case 'string':
      return random.once(3) ? text(random) : word(random);
    case 'null':
      return null;
    default:
      return json(random, [], 2);
  }
}

function objectOf(
  random: Random,
  { properties, required, additionalProperties }: Record<string, unknown>,
  schemas: Schemas,
  depth: number,
): Json {
  const value: Json = {};
  const needed: unknown[] = Array.isArray(required) ? required : [];
  for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
    if (!needed.includes(name) && !random.once(3)) continue;
    value[name] = valueOf(random, schema, schemas, depth - 1);
  }
  if (isObject(additionalProperties) && random.once(2)) {
    value[word(random)] = valueOf(random, additionalProperties, schemas, depth - 1);
  }
  return value;
}
