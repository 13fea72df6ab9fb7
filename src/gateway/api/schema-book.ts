/**
 * Collects the schemas of an OpenAPI document by name. Equal schemas share one entry. The `$defs` of a schema become
 * entries of the document, because a reference that starts with `#` is relative to the document.
 */
import * as z from 'zod';

type Json = Readonly<Record<string, unknown>>;
type Side = 'input' | 'output';

export type SchemaBook = ReturnType<typeof schemaBook>;

export function schemaBook() {
  const schemas: Record<string, Json> = {};
  const names = new Map<string, string>();

  function convert(name: string, schema: z.core.$ZodType, side: Side): Json {
    // Zod types without a JSON Schema, such as transformations, become a schema that accepts anything.
    const made = z.toJSONSchema(schema, { io: side, unrepresentable: 'any' });
    const { $schema: _, $defs = {}, ...json } = made;
    for (const [own, definition] of Object.entries($defs)) {
      schemas[`${name}.${own}`] = relink(definition, name) as Json;
    }
    return relink(json, name) as Json;
  }

  return {
    /** Returns the schema itself, not a reference. Used for small schemas. */
    inline: convert,
    /** Adds the schema under this name and returns a reference to it. */
    refOf(name: string, schema: z.ZodType, side: Side): Json {
      const key = JSON.stringify(z.toJSONSchema(schema, { io: side, unrepresentable: 'any' }));
      let known = names.get(key);
      if (known === undefined) {
        known = name;
        names.set(key, known);
        schemas[known] = convert(known, schema, side);
      }
      return { $ref: `#/components/schemas/${known}` };
    },
    schemas: (): Json => schemas,
  };
}

/** Makes references within a schema relative to the document. */
function relink(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((each) => relink(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key !== '$ref' || typeof each !== 'string') return [key, relink(each, name)];
      const own = each.replace(/^#\/\$defs\//, '');
      return [key, `#/components/schemas/${each === '#' ? name : `${name}.${own}`}`];
    }),
  );
}
