/** Checks JSON from clients and remote agents. */
import type * as z from 'zod';
import { A2AError } from './errors.ts';

export const MAX_JSON_DEPTH = 100;
/** Maximum total number of objects, arrays and keys. Larger JSON would block the event loop. */
export const MAX_JSON_NODES = 100_000;

/**
 * Throws if JSON is nested too deeply, is too large, or has a `__proto__` key. Deep nesting would exhaust the stack
 * of recursive code. A copied `__proto__` key would change the prototype of the copy.
 */
export function inspectJson(value: unknown): void {
  nodes = 0;
  if (typeof value === 'object' && value !== null) walk(value, 1);
}

let nodes = 0;

function count(more: number): void {
  nodes += more;
  if (nodes > MAX_JSON_NODES) throw tooManyNodes('JSON');
}

/** Returns the error for a value that exceeds `MAX_JSON_NODES`. `what` names the value, for example `JSON`. */
export function tooManyNodes(what: string): A2AError {
  return new A2AError(
    'invalidRequest',
    `${what} has more than ${MAX_JSON_NODES} objects, arrays and keys`,
  );
}

function walk(value: object, depth: number): void {
  count(1);
  if (depth > MAX_JSON_DEPTH) {
    throw new A2AError('invalidRequest', `JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
  }
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      if (typeof item === 'object' && item !== null) walk(item, depth + 1);
    }
    return;
  }
  // For parsed JSON, for-in visits only own keys, including an own `__proto__`.
  for (const key in value) {
    count(1);
    if (key === '__proto__') {
      throw new A2AError('invalidParams', 'the key "__proto__" is not allowed');
    }
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === 'object' && item !== null) walk(item, depth + 1);
  }
}

/** Parses JSON text. Throws the A2AError `parse` if the text is not JSON. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new A2AError('parse');
  }
}

/** Parses `value` with a schema. Throws an `invalidParams` error that lists up to ten problems with their fields. */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what = 'parameters'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const violations = result.error.issues.slice(0, 10).map((issue) => ({
    field: issue.path.map(String).join('.'),
    description: issue.message,
  }));
  const first = violations[0];
  throw new A2AError(
    'invalidParams',
    first ? `Invalid ${what}: ${first.field || '(all)'}: ${first.description}` : undefined,
    { violations },
  );
}
