/** Functions that the endpoints for several vendors use to convert requests. */
import type * as z from 'zod';
import { type JsonObject, wordIssue } from '../../../base/index.ts';
import type {
  BlobPart,
  Content,
  ContentPart,
  FileContentPart,
  FunctionResponsePart,
  ModelRequest,
} from '../../../agent/index.ts';
import { A2AError } from '../../../protocol/index.ts';

/** Minimum numbers of tokens for thoughts at the levels medium and high. */
const MEDIUM_BUDGET = 4096;
const HIGH_BUDGET = 16_384;

/** How a request is converted. */
export interface Conversion {
  /**
   * Whether to refuse content that only providers with the client's API support. If false, such content is ignored or
   * becomes a data part.
   */
  readonly strict: boolean;
}

/** Returns whether a field is set. A field that is null counts as not set. */
export function isSet<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** Returns whether a field is set to something other than an empty list. */
export function isFilled(value: unknown): boolean {
  return isSet(value) && !(Array.isArray(value) && value.length === 0);
}

/** Returns the fields that are set. */
export function setFields<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => isSet(value));
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

export function invalidField(field: string, why: string, reason?: string): A2AError {
  return new A2AError('invalidParams', `${field}: ${why}`, {
    violations: [{ field, description: why }],
    ...(reason !== undefined && { reason }),
  });
}

/**
 * Parses a part of a request. `at` is the name of this part. Throws `invalidParams` with the name of the invalid field.
 * `whyUnknown` is the explanation for an unknown field.
 */
export function readAt<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: string,
  whyUnknown = 'not supported',
): z.infer<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [at, ...(issue?.path ?? []), ...unknown].join('.');
  const why = unknown.length > 0 ? whyUnknown : issue && wordIssue(issue);
  throw invalidField(path, why ?? 'invalid');
}

/** Returns the converted part. If the conversion fails and `strict` is false, returns `given` as a data part. */
export function convertedOrData<Part>(
  given: object,
  strict: boolean,
  convert: () => Part,
): Part | Extract<ContentPart, { kind: 'data' }> {
  try {
    return convert();
  } catch (error) {
    if (strict || !(error instanceof A2AError)) throw error;
    // The cast is safe, because the body of the request is JSON.
    return { kind: 'data', data: given as JsonObject };
  }
}

export interface OpenContent extends Content {
  readonly parts: ContentPart[];
}

/**
 * Returns the parts of the last content if it has this role. Otherwise adds a content and returns its parts. So
 * consecutive messages of one role become one content, because models require alternating roles.
 */
export function partsOfRole(contents: OpenContent[], role: Content['role']): ContentPart[] {
  const last = contents.at(-1);
  if (last?.role === role) return last.parts;
  const parts: ContentPart[] = [];
  contents.push({ role, parts });
  return parts;
}

export type TextOrFile = Extract<ContentPart, { kind: 'text' }> | BlobPart | FileContentPart;

/** Returns the joined texts and the files that a tool returned. */
export function toolResponse(
  parts: readonly TextOrFile[],
  separator = '',
): Pick<FunctionResponsePart, 'response' | 'parts'> {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const files = parts.filter((part) => part.kind !== 'text');
  return { response: texts.join(separator), ...(files.length > 0 && { parts: files }) };
}

/** Converts a number of tokens for thoughts to a level. */
export function levelOf(budget: number): NonNullable<ModelRequest['reasoning']> {
  if (budget < MEDIUM_BUDGET) return 'low';
  return budget < HIGH_BUDGET ? 'medium' : 'high';
}
