/**
 * What the extension's messages are made of.
 *
 * Their fields are in snake_case, as its specification writes them; what Parley adds (`correlationId`, `autoExecute`)
 * is in camelCase, so that the two are told apart at a glance. Unknown fields are kept.
 */
import * as z from 'zod';
import { isObject } from '../../base/index.ts';

/** JSON as it can be stored and sent: every message here is made of it. */
export type Json = string | number | boolean | null | readonly Json[] | Struct;

/** google.protobuf.Struct: any JSON object. What is parsed here came out of a JSON parser, so one look is enough. */
export interface Struct {
  readonly [key: string]: Json;
}
export const Struct = z.custom<Struct>(isObject, { message: 'expected an object' });

/**
 * An object that keeps what it does not know. Unlike a plain loose object its type has no index of unknowns, so that a
 * message is known to be JSON all through.
 */
export function message<const Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

/** Of these fields exactly one is there, or at most one: proto's `oneof`. */
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
