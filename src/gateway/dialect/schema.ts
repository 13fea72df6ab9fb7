/**
 * The schemas of requests and responses of the dialect, the gateway's own REST API. They are used for validation and
 * for `/openapi.json`.
 *
 * `sessionId` is the `contextId` of A2A, `content` is the `parts` of a message, and `cancelled` is the state `canceled`
 * of A2A. Unknown fields of a request are ignored. But settings of the model are refused if they are not in the
 * metadata.
 */
import * as z from 'zod';
import { Id, Metadata } from '../../protocol/index.ts';
import { SETTINGS } from '../models/tasks/chat-completion.ts';

const MAX_PARTS = 256;

export const Status = z.enum([
  'submitted',
  'working',
  'input-required',
  'completed',
  'failed',
  'cancelled',
]);
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
      message: 'must have exactly one of bytes and uri',
    }),
  metadata,
});

export const DialectPart = z.discriminatedUnion('type', [TextPart, DataPart, FilePart]);
export type DialectPart = z.infer<typeof DialectPart>;

const sentContent = z
  .union([z.string(), z.array(DialectPart).min(1).max(MAX_PARTS)], {
    error: `must be text, or an array of 1 to ${MAX_PARTS} parts of the types text, data and file`,
  })
  .refine((content) => !isEmpty(content), { message: 'must not be empty' })
  .describe('Text, or parts of the types text, data and file');

function isEmpty(content: string | readonly DialectPart[]): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}

const SentMessage = z
  .looseObject({
    role: z.literal('user', { error: 'must be "user"' }),
    content: sentContent,
    messageId: Id.optional().describe(
      'An id that the client chooses. If a message with the same id is sent again, the response is the same task',
    ),
    metadata,
  })
  .superRefine(checkSettings);

const requestFields = {
  sessionId: Id.optional().describe(
    'The conversation of the task. If missing, a new conversation starts',
  ),
  taskId: Id.optional().describe('The task to continue. It must be input-required'),
  metadata: metadata.describe(
    `\`model\` and \`api_type\` (chat or embeddings) select the model that executes the task. \`agent\` selects an agent instead. Settings of a chat: ${SETTINGS.filter((name) => name !== 'model').join(', ')}`,
  ),
  expiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('At this time, an unfinished task is ended and a finished task is deleted'),
};

/** Refuses settings that are not in the metadata, because they would have no effect. */
function checkSettings(body: object, context: z.RefinementCtx): void {
  const add = (field: string, message: string) =>
    context.addIssue({ code: 'custom', path: [field], message });
  const setting = SETTINGS.find((name) => name in body);
  if (setting !== undefined) add(setting, `send it as metadata.${setting}`);
  if ('messages' in body) {
    add(
      'messages',
      'send it in a part of message.content: {"type": "data", "data": {"messages": …}}',
    );
  }
}

export const SendBody = z
  .looseObject({ ...requestFields, message: SentMessage })
  .superRefine(checkSettings);
export type SendBody = z.infer<typeof SendBody>;

export const SubscribeBody = z
  .looseObject({
    ...requestFields,
    message: SentMessage.optional().describe(
      'If missing, the events of `taskId` after Last-Event-ID are sent',
    ),
  })
  .refine(({ message, taskId }) => message !== undefined || taskId !== undefined, {
    path: ['message'],
    message: 'send a message, or the taskId of a task to follow',
  })
  .superRefine(checkSettings);

export const SubscribeQuery = z.object({
  after: z
    .string()
    .optional()
    .describe('The same as Last-Event-ID, for clients that cannot set headers'),
});

export const CancelBody = z.looseObject({ taskId: Id });

export const DialectMessage = z.object({
  role: z.enum(['user', 'agent']),
  content: z
    .union([z.string(), z.array(DialectPart)])
    .describe('Text, or an array of parts if not all parts are text'),
  messageId: z.string(),
  metadata,
});
export type DialectMessage = z.infer<typeof DialectMessage>;

export const DialectArtifact = z.object({
  artifactId: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  content: z.string().describe('The text of all parts'),
  parts: z.array(DialectPart),
  metadata,
});
export type DialectArtifact = z.infer<typeof DialectArtifact>;

const time = z.iso.datetime();

export const DialectTask = z.object({
  id: z.string(),
  status: Status,
  sessionId: z.string(),
  message: DialectMessage.optional().describe('The message that started the task'),
  artifacts: z.array(DialectArtifact),
  history: z
    .array(DialectMessage)
    .describe('All messages in order. If the task is input-required, the last one is the question'),
  metadata: Metadata.describe('`usage` has the tokens and the cost, if known'),
  createdAt: time,
  updatedAt: time,
  expiresAt: time.optional(),
  error: z.string().optional().describe('The reason why the task failed'),
});
export type DialectTask = z.infer<typeof DialectTask>;

export const TaskAnswer = z.object({ task: DialectTask });

const statusFields = {
  taskId: z.string(),
  status: Status,
  timestamp: time,
  message: DialectMessage.optional().describe('The message of the status'),
};

/** The `data` of one server-sent event. */
export const DialectEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('status'),
    ...statusFields,
    sessionId: z.string().optional().describe('Only in the first event of a task'),
    metadata: metadata.describe("The task's metadata, only in its first event"),
    expiresAt: time.optional(),
  }),
  z.object({
    type: z.literal('artifact'),
    taskId: z.string(),
    artifact: DialectArtifact,
    append: z
      .boolean()
      .optional()
      .describe('If true, the parts are appended to the existing parts of the artifact'),
    lastChunk: z.boolean().optional(),
    timestamp: time.describe('When the event was sent'),
  }),
  z.object({
    type: z.enum(['completed', 'failed', 'cancelled', 'input-required']),
    ...statusFields,
    error: z.string().optional(),
  }),
]);
export type DialectEvent = z.infer<typeof DialectEvent>;
