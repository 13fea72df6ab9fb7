/**
 * Building blocks for the schemas of the extension's messages.
 *
 * Field names of the specification are in snake_case. Fields that Parley adds (`correlationId`, `autoExecute`) are in
 * camelCase, so that they are easy to distinguish. Unknown fields are kept.
 */
import * as z from 'zod';
import { isObject } from '../../base/index.ts';

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | Struct;

/**
 * google.protobuf.Struct: any JSON object. The schema checks only the outermost type, because all values come from a
 * JSON parser.
 */
export interface Struct {
  readonly [key: string]: Json;
}
export const Struct = z.custom<Struct>(isObject, { message: 'expected an object' });

/**
 * Makes an object schema that keeps unknown fields. Unlike the type of `z.looseObject`, its type has no index
 * signature, so that messages are assignable to a JSON type.
 */
export function message<const Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

/** Makes a check that requires exactly one or at most one of the fields, like `oneof` in protobuf. */
export function oneOf<Field extends string>(rule: 'exactly' | 'at most', fields: readonly Field[]) {
  return (context: z.core.ParsePayload<{ readonly [Key in Field]?: unknown }>): void => {
    const present = fields.filter((field) => context.value[field] !== undefined).length;
    if (present === 1 || (present === 0 && rule === 'at most')) return;
    context.issues.push({
      code: 'custom',
      input: context.value,
      message: `${rule} one of ${fields.join(', ')}`,
    });
  };
}

/**
 * Returns a field name in lower case and without separators, so that `workspacePath` and `workspace_path` are equal.
 */
export function plainName(field: string): string {
  return field.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
