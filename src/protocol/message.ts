/** The content that agents exchange: parts, messages and artifacts. */
import * as z from 'zod';
import { hasOneContent, isDefined, isIdText, isTextList } from './refinements.ts';

/** A free-form JSON object. The schema neither checks nor changes its content. */
export const Metadata = z.record(z.string(), z.unknown());
export type Metadata = z.infer<typeof Metadata>;

/** The metadata key under which the sender of a message is stored. Only the server sets it. */
export const SOURCE_KEY = 'parley.source';

const partFields = {
  metadata: Metadata.optional(),
  /** In 1.0, every part may have a media type and a file name. In 0.3, only files have them. */
  mediaType: z.string().optional(),
  filename: z.string().optional(),
};

/** A part with text: `{ kind: 'text', text: 'Hello' }`. */
export const TextPart = z.looseObject({
  kind: z.literal('text'),
  text: z.string(),
  ...partFields,
});
export type TextPart = z.infer<typeof TextPart>;

/** The content of a file: either its bytes in base64, or its URI. */
export const FileContent = z
  .looseObject({
    bytes: z.string().optional(),
    uri: z.string().min(1).optional(),
    mimeType: z.string().optional(),
    name: z.string().optional(),
  })
  .refine(hasOneContent, { message: 'must have exactly one of bytes and uri' });
export type FileContent = z.infer<typeof FileContent>;

/** A part with a file. */
export const FilePart = z.looseObject({
  kind: z.literal('file'),
  file: FileContent,
  metadata: Metadata.optional(),
});
export type FilePart = z.infer<typeof FilePart>;

/** Structured data: any JSON value, as in 1.0. In 0.3, it must be an object (see wire/v03.ts). */
export const DataPart = z.looseObject({
  kind: z.literal('data'),
  data: z.unknown().refine(isDefined, { message: 'data is required' }),
  ...partFields,
});
export type DataPart = z.infer<typeof DataPart>;

/**
 * One part of a message or an artifact. Its type depends on `kind`.
 *
 *   const parts: Part[] = [{ kind: 'text', text: 'Hello' }, { kind: 'data', data: { n: 1 } }];
 */
export const Part = z.discriminatedUnion('kind', [TextPart, FilePart, DataPart]);
export type Part = z.infer<typeof Part>;

/** An id or a name that a peer chooses. Lone surrogates and NUL are invalid, because some stores cannot store them. */
export const Id = z
  .string()
  .min(1)
  .max(256)
  .refine(isIdText, { message: 'must be well-formed Unicode without NUL' });

/**
 * A short list of strings. One check covers the whole list, so that a million invalid items produce only one error.
 */
export const Texts = z.custom<string[]>(isTextList, { message: 'expected at most 256 strings' });

/** The author of a message. */
export const Role = z.enum(['user', 'agent']);
export type Role = z.infer<typeof Role>;

/**
 * A message from the user or the agent.
 *
 *   { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }
 */
export const Message = z.looseObject({
  kind: z.literal('message'),
  messageId: Id,
  role: Role,
  parts: z.array(Part).min(1),
  contextId: Id.optional(),
  taskId: Id.optional(),
  referenceTaskIds: Texts.optional(),
  extensions: Texts.optional(),
  metadata: Metadata.optional(),
});
export type Message = z.infer<typeof Message>;

/** An output of a task, which consists of parts: `{ artifactId, name, parts }`. */
export const Artifact = z.looseObject({
  artifactId: z.string().min(1),
  name: z.string().optional(),
  description: z.string().optional(),
  parts: z.array(Part).min(1),
  extensions: Texts.optional(),
  metadata: Metadata.optional(),
});
export type Artifact = z.infer<typeof Artifact>;

/** Returns the joined text of all text parts. */
export function textOf(parts: readonly Part[]): string {
  let text = '';
  for (const part of parts) if (part.kind === 'text') text += part.text;
  return text;
}
