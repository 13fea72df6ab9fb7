/**
 * Functions for reading a peer's JSON. They throw errors that name the field, and convert text to numbers and
 * booleans.
 */
import { isObject } from '../../base/index.ts';
import type * as z from 'zod';
import { isMessageSendParams, isSubscribeParams, isTaskQueryParams } from '../checks.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import { METHODS, type Operation, type ParamsOf } from '../methods.ts';
import type { TaskState } from '../task.ts';

export type Raw = Record<string, unknown>;

/** Throws `invalidParams`. `field` is the peer's name for the field. */
export function refuse(field: string, description: string): never {
  throw new A2AError('invalidParams', `Invalid parameters: ${field}: ${description}`, {
    violations: [{ field, description }],
  });
}

export function objectAt(value: unknown, field: string): Raw {
  if (!isObject(value)) refuse(field, 'must be an object');
  return value;
}

/** Returns the parameters as an object. Parameters may be missing only for two operations. */
export function paramsObject(operation: Operation, raw: unknown): Raw {
  if (raw == null && (operation === 'getExtendedCard' || operation === 'listTasks')) return {};
  return objectAt(raw, 'params');
}

/** Removes a field that is null, which means absent in ProtoJSON. */
export function dropNull(out: Raw, key: string): void {
  if (out[key] === null) delete out[key];
}

/** Removes a field that is null or an empty string, which means absent in proto3. */
export function dropEmpty(out: Raw, key: string): void {
  const value = out[key];
  if (value === null || value === '') delete out[key];
}

/**
 * Converts a text to a number, because numbers may be text in query strings and ProtoJSON. Returns other values
 * unchanged, so that the schema checks them.
 */
export function intOf(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

export function boolOf(value: unknown): unknown {
  return value === 'true' ? true : value === 'false' ? false : value;
}

const INTEGERS = ['historyLength', 'pageSize', 'after'] as const;

/**
 * Reads parameters that may come from a query string. There, numbers and booleans are text, and an empty text means
 * absent. Returns a copy that the caller may change.
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

/** Reads the parameters for listing tasks. `states` has the names of the states in the peer's version. */
export function listParams(raw: Raw, states: ReadonlyMap<unknown, TaskState>): Raw {
  const out = queryParams(raw);
  dropEmpty(out, 'status');
  if (out.status === undefined) return out;
  out.status = states.get(out.status) ?? refuse('status', 'unknown task state');
  return out;
}

const schemas: { readonly [O in Operation]: { readonly params: z.ZodType<ParamsOf<O>> } } = METHODS;

/**
 * Fast checks of the most frequent parameters. A value that passes is valid. Any other value is parsed with the schema.
 */
const checks: { readonly [O in Operation]?: (value: unknown) => value is ParamsOf<O> } = {
  sendMessage: isMessageSendParams,
  streamMessage: isMessageSendParams,
  getTask: isTaskQueryParams,
  subscribe: isSubscribeParams,
};

/**
 * Validates parameters with the operation's schema. `rename` converts the field names in errors to the peer's names.
 */
export function validated<O extends Operation>(
  operation: O,
  value: unknown,
  rename?: (field: string) => string,
): ParamsOf<O> {
  const check = checks[operation];
  if (check?.(value)) return value;
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

/** Reads a peer's response. An A2AError that `read` throws becomes `invalidAgentResponse`. */
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
 * Converts base64 to the internal format, which has the standard alphabet and padding. Peers may use the URL-safe
 * alphabet, omit the padding, or break the text into lines.
 */
export function base64At(written: unknown, field: string): string {
  if (typeof written !== 'string') refuse(field, 'must be a base64 string');
  const value = /\s/.test(written) ? written.replaceAll(/\s+/g, '') : written;
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) refuse(field, 'must be base64');
  const standard = /[-_]/.test(value) ? value.replaceAll('-', '+').replaceAll('_', '/') : value;
  if (standard.length % 4 === 0) return standard;
  const bare = standard.replace(/=+$/, '');
  if (bare.length % 4 === 1) refuse(field, 'must be base64');
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
}
