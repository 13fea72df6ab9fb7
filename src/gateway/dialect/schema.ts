/**
 * The dialect's bodies and answers, as schemas: what is checked, and what `/openapi.json` says.
 *
 * `sessionId` is A2A's context, `content` a message's parts, `cancelled` its `canceled`. What a client sends beyond this
 * is ignored.
 */
import * as z from 'zod';
import { Id, Metadata } from '../../protocol/index.ts';

/** More parts than this are no message. */
const MAX_PARTS = 256;

const STATUSES = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'failed',
  'cancelled',
] as const;

export const Status = z.enum(STATUSES);
export type Status = z.infer<typeof Status>;

const metadata = Metadata.optional();

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string(), metadata });
const DataPart = z.looseObject({
  type: z.literal('data'),
  data: z.unknown().refine((value) => value !== undefined, { message: 'data is required' }),
  metadata,
});
const FilePart = z.looseObject({
  type: z.literal('file'),
  file: z
    .looseObject({
      name: z.string().optional(),
      mimeType: z.string().optional(),
      bytes: z.string().optional().describe('Base64'),
      uri: z.string().min(1).optional(),
    })
    .refine(({ bytes, uri }) => (bytes === undefined) !== (uri === undefined), {
      message: 'exactly one of bytes and uri',
    }),
  metadata,
});

export const DialectPart = z.discriminatedUnion('type', [TextPart, DataPart, FilePart]);
export type DialectPart = z.infer<typeof DialectPart>;

const sent = z
  .union([z.string(), z.array(DialectPart).min(1).max(MAX_PARTS)], {
    error: `text, or an array of 1 to ${MAX_PARTS} parts of the types text, data and file`,
  })
  .refine((content) => !isEmpty(content), { message: 'there is nothing in it' })
  .describe('Text, or parts of the types text, data and file');

function isEmpty(content: string | readonly DialectPart[]): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}

const Sent = z.looseObject({
  role: z.literal('user', { error: 'a message to the gateway has the role user' }),
  content: sent,
  messageId: Id.optional().describe(
    'Chosen by the client: the same message again finds its task instead of making another',
  ),
  metadata,
});

const asked = {
  sessionId: Id.optional().describe('Groups tasks into a conversation. Absent: a new one'),
  taskId: Id.optional().describe('Continues the task, which has to be input-required'),
  metadata: metadata.describe(
    '`model` and `api_type` (chat, embeddings), or `agent`, say what does the work',
  ),
  expiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('From then on the task is ended, or removed if it is finished'),
};

export const SendBody = z.looseObject({ ...asked, message: Sent });
export type SendBody = z.infer<typeof SendBody>;

export const SubscribeBody = z
  .looseObject({
    ...asked,
    message: Sent.optional().describe('Absent: the events of `taskId` behind Last-Event-ID'),
  })
  .refine(({ message, taskId }) => message !== undefined || taskId !== undefined, {
    path: ['message'],
    message: 'a message, or the taskId of a task to follow',
  });

export const SubscribeQuery = z.object({
  after: z.string().optional().describe('As Last-Event-ID, for those who cannot send a header'),
});

export const CancelBody = z.looseObject({ taskId: Id });

export const DialectMessage = z.object({
  role: z.enum(['user', 'agent']),
  content: z
    .union([z.string(), z.array(DialectPart)])
    .describe('Text, unless there are parts of other types'),
  messageId: z.string(),
  metadata,
});
export type DialectMessage = z.infer<typeof DialectMessage>;

export const DialectArtifact = z.object({
  artifactId: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  content: z.string().describe('All of its text'),
  parts: z.array(DialectPart),
  metadata,
});
export type DialectArtifact = z.infer<typeof DialectArtifact>;

const time = z.iso.datetime();

export const DialectTask = z.object({
  id: z.string(),
  status: Status,
  sessionId: z.string(),
  message: DialectMessage.optional().describe('The one that began the task'),
  artifacts: z.array(DialectArtifact),
  history: z
    .array(DialectMessage)
    .describe('All that was said, in order; of an input-required task the last is the question'),
  metadata: Metadata.describe('`usage` has the tokens and the cost, where they are known'),
  createdAt: time,
  updatedAt: time,
  expiresAt: time.optional(),
  error: z.string().optional().describe('Why the task failed'),
});
export type DialectTask = z.infer<typeof DialectTask>;

export const TaskAnswer = z.object({ task: DialectTask });

const changed = {
  taskId: z.string(),
  status: Status,
  timestamp: time,
  message: DialectMessage.optional().describe('What was said with it'),
};

/** The `data` of one server-sent event. */
export const DialectEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('status'),
    ...changed,
    sessionId: z.string().optional().describe('In the first event of a task'),
    metadata: metadata.describe("The task's, in its first event"),
    expiresAt: time.optional(),
  }),
  z.object({
    type: z.literal('artifact'),
    taskId: z.string(),
    artifact: DialectArtifact,
    append: z.boolean().optional().describe('The parts come behind those that are there'),
    lastChunk: z.boolean().optional(),
    timestamp: time.describe('When it was sent'),
  }),
  z.object({
    type: z.enum(['completed', 'failed', 'cancelled', 'input-required']),
    ...changed,
    error: z.string().optional(),
  }),
]);
export type DialectEvent = z.infer<typeof DialectEvent>;

export const Failure = z.object({ error: z.string() });
