// The generated checks (src/protocol/checks.ts) against the zod schemas from which they were generated.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type * as z from 'zod';
import { generateChecks } from '../scripts/generate-checks.ts';
import * as checks from '../src/protocol/checks.ts';
import { MessageSendParams, SubscribeParams, TaskQueryParams } from '../src/protocol/params.ts';
import { hasOneContent } from '../src/protocol/refinements.ts';
import { RECEIVED } from '../src/protocol/wire/received-schemas.ts';

const CASES: readonly (readonly [string, (value: unknown) => boolean, z.ZodType])[] = [
  ['isMessageSendParams', checks.isMessageSendParams, MessageSendParams],
  ['isTaskQueryParams', checks.isTaskQueryParams, TaskQueryParams],
  ['isSubscribeParams', checks.isSubscribeParams, SubscribeParams],
  ['isReceivedEvent', checks.isReceivedEvent, RECEIVED.event],
];

const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)));
const metadata = fc.dictionary(fc.string({ maxLength: 8 }), json, {
  maxKeys: 3,
  noNullPrototype: true,
});
/** Values at the limits of the schemas, and values of other types. */
const odd = fc.oneof(
  json,
  fc.constantFrom(
    undefined,
    null,
    '',
    'x'.repeat(256),
    'x'.repeat(257),
    'x'.repeat(4097),
    '\0',
    '\ud800',
  ),
  fc.constantFrom(
    -1,
    0,
    1.5,
    2 ** 53,
    Number.NaN,
    true,
    [],
    {},
    [1],
    ['a'],
    'user',
    'text',
    'task',
  ),
  fc.constant(Array.from({ length: 257 }, () => 'a')),
);

/** Makes values that a schema accepts. */
function valid(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const definition = schema._zod.def as z.core.$ZodTypes['_zod']['def'];
  switch (definition.type) {
    case 'literal':
      return fc.constantFrom(...definition.values);
    case 'enum':
      return fc.constantFrom(...Object.values(definition.entries));
    case 'string':
      return fc.string({ minLength: 1, maxLength: 12 });
    case 'number':
      return fc.nat();
    case 'boolean':
      return fc.boolean();
    case 'record':
      return metadata;
    case 'custom':
      return fc.array(fc.string(), { maxLength: 3 });
    case 'optional':
      return valid(definition.innerType);
    case 'array':
      return fc.array(valid(definition.element), { minLength: 1, maxLength: 3 });
    case 'union':
      return fc.oneof(...definition.options.map(valid));
    case 'object': {
      const fields = Object.entries(definition.shape);
      const required = fields.filter(([, field]) => field._zod.optin !== 'optional');
      const record = fc.record(
        Object.fromEntries(fields.map(([key, field]) => [key, valid(field)])),
        {
          requiredKeys: required.map(([key]) => key),
          noNullPrototype: true,
        },
      );
      const isFile = 'bytes' in definition.shape;
      return fc
        .tuple(isFile ? record.filter(hasOneContent) : record, metadata)
        .map(([known, other]) => Object.assign({}, other, known));
    }
    default:
      return json;
  }
}

type Container = Record<string, unknown>;

/** Returns every object and list inside a value. */
function containers(value: unknown): Container[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Container, ...Object.values(value).flatMap(containers)];
}

interface Mutation {
  readonly at: number;
  readonly field: number;
  readonly value: unknown;
  readonly how: number;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  field: fc.nat(),
  value: odd,
  how: fc.nat(3),
});

/** Replaces, removes or adds one field or item somewhere inside a value, as JSON could have it. */
function mutate(value: unknown, { at, field, value: given, how }: Mutation): void {
  const other = structuredClone(given);
  const all = containers(value);
  const inside = all[at % all.length]!;
  if (Array.isArray(inside)) {
    inside.splice(field % (inside.length + 1), 1, ...(how === 0 ? [] : [other]));
    return;
  }
  const keys = Object.keys(inside);
  const key = keys[field % Math.max(1, keys.length)] ?? 'more';
  if (how === 0) delete inside[key];
  else if (how > 1) inside[key] = other;
  else Object.defineProperty(inside, '__proto__', { ...WRITABLE, value: other });
}

const WRITABLE = { enumerable: true, configurable: true, writable: true };

for (const [name, check, schema] of CASES) {
  test(`${name} accepts what zod accepts, and zod would return the same value`, () => {
    const cases = fc.tuple(valid(schema), fc.array(mutation, { maxLength: 2 }));
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(cases, ([made, mutations]) => {
        const value = structuredClone(made);
        for (const change of mutations) mutate(value, change);
        const result = schema.safeParse(value);
        if (check(value)) {
          accepted++;
          assert.ok(result.success);
          assert.deepStrictEqual(result.data, value);
        } else if (result.success) {
          // zod drops this key, so the value is left to zod.
          assert.ok(containers(value).some((inside) => Object.hasOwn(inside, '__proto__')));
        } else {
          refused++;
        }
      }),
      { numRuns: process.env['PARLEY_TEST_LONG'] ? 100_000 : 1500, seed: 1 },
    );
    assert.ok(accepted > 300 && refused > 100, `${accepted} accepted, ${refused} refused`);
  });
}

test('the checks were generated from the current schemas', () => {
  const file = path.join(import.meta.dirname, '../src/protocol/checks.ts');
  // The formatter changes spaces, and adds parentheses and commas.
  const bare = (text: string) => text.replaceAll(/[\s(),;]/g, '');
  const fix = 'run: node --conditions=parley-source scripts/generate-checks.ts && npx oxfmt';
  assert.equal(bare(readFileSync(file, 'utf8')), bare(generateChecks()), fix);
});
