/** What both codecs need to read a peer's JSON: refusals that name the field, and slack where text stands for a value. */
import { isObject } from '../../base/index.ts';
import type * as z from 'zod';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import { METHODS, type Operation, type ParamsOf } from '../methods.ts';

export type Raw = Record<string, unknown>;

/** Says which of the peer's fields is wrong, in the peer's own names. */
export function refuse(field: string, description: string): never {
  throw new A2AError('invalidParams', `Invalid parameters: ${field}: ${description}`, {
    violations: [{ field, description }],
  });
}

export function objectAt(value: unknown, field: string): Raw {
  if (!isObject(value)) refuse(field, 'must be an object');
  return value;
}

/** The parameters as an object. Only two operations may come without any. */
export function paramsObject(operation: Operation, raw: unknown): Raw {
  if (raw == null && (operation === 'getExtendedCard' || operation === 'listTasks')) return {};
  return objectAt(raw, 'params');
}

/** Takes a field away that is null: in ProtoJSON that means absent. */
export function dropNull(out: Raw, key: string): void {
  if (out[key] === null) delete out[key];
}

/** Takes a field away that is null or empty: proto3 has no other way to leave a string out. */
export function dropEmpty(out: Raw, key: string): void {
  const value = out[key];
  if (value === null || value === '') delete out[key];
}

/** A number may come as text, in a query string or as ProtoJSON; the schema judges what is no number. */
export function intOf(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

export function boolOf(value: unknown): unknown {
  return value === 'true' ? true : value === 'false' ? false : value;
}

const INTEGERS = ['historyLength', 'pageSize', 'after'] as const;

/**
 * The parameters of a look-up, which may come from a query string: numbers and booleans as text, empty for absent.
 * Returns a copy that the caller may change.
 */
export function queryParams(raw: Raw): Raw {
  const out = { ...raw };
  for (const key of INTEGERS) {
    if (out[key] === undefined) continue;
    out[key] = intOf(out[key]);
    dropEmpty(out, key);
  }
  if (out.includeArtifacts !== undefined) {
    out.includeArtifacts = boolOf(out.includeArtifacts);
    dropEmpty(out, 'includeArtifacts');
  }
  dropNull(out, 'metadata');
  dropEmpty(out, 'tenant');
  dropEmpty(out, 'contextId');
  dropEmpty(out, 'pageToken');
  dropEmpty(out, 'statusTimestampAfter');
  return out;
}

const schemas: { readonly [O in Operation]: { readonly params: z.ZodType<ParamsOf<O>> } } = METHODS;

/**
 * The last word on parameters is the schema's. `rename` turns the inner name of a field that it complains about into
 * the peer's.
 */
export function validated<O extends Operation>(
  operation: O,
  value: unknown,
  rename?: (field: string) => string,
): ParamsOf<O> {
  try {
    return parseWith(schemas[operation].params, value);
  } catch (error) {
    throw error instanceof A2AError ? renamed(error, rename) : error;
  }
}

function renamed(error: A2AError, rename: (field: string) => string = (field) => field): A2AError {
  const violations = error.detail.violations?.map(({ field, description }) => ({
    field: rename(field.replace(/\.(\d+)(?=\.|$)/g, '[$1]')),
    description,
  }));
  const first = violations?.[0];
  if (!violations || !first) return error;
  return new A2AError(
    error.kind,
    `Invalid parameters: ${first.field || 'params'}: ${first.description}`,
    { violations },
  );
}

/** Runs a reader over a peer's answer: what it refuses is the peer's fault, not that of any parameters. */
export function answer<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    const first = error.detail.violations?.[0];
    throw new A2AError(
      'invalidAgentResponse',
      first ? `Invalid agent response: ${first.field}: ${first.description}` : error.message,
      error.detail,
    );
  }
}

/**
 * Base64 as the inner shape has it: the standard alphabet, padded. Peers may send the URL-safe one, and leave the
 * padding out.
 */
export function base64At(value: unknown, field: string): string {
  if (typeof value !== 'string') refuse(field, 'must be a base64 string');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) refuse(field, 'not base64');
  const standard = /[-_]/.test(value) ? value.replaceAll('-', '+').replaceAll('_', '/') : value;
  if (standard.length % 4 === 0) return standard;
  const bare = standard.replace(/=+$/, '');
  if (bare.length % 4 === 1) refuse(field, 'not base64');
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
}
