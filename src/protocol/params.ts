/** The parameters of the operations, in the internal format. */
import * as z from 'zod';
import { Id, Message, Metadata, Texts } from './message.ts';
import { MAX_TASK_PAGE, Task, TaskState } from './task.ts';

const tenant = Id.optional();
const historyLength = z.int().min(0).optional();

/** The authentication that a webhook expects. */
export const PushAuthentication = z.looseObject({
  schemes: z.array(z.string().min(1)).min(1),
  credentials: z.string().optional(),
});
export type PushAuthentication = z.infer<typeof PushAuthentication>;

/** A webhook: the address to which a task's events are sent, and the credentials. */
export const PushNotificationConfig = z.looseObject({
  id: Id.optional(),
  url: z.string().min(1).max(2048),
  token: z.string().max(4096).optional(),
  authentication: PushAuthentication.optional(),
});
export type PushNotificationConfig = z.infer<typeof PushNotificationConfig>;

/** The webhook of a task. */
export const TaskPushNotificationConfig = z.looseObject({
  taskId: Id,
  pushNotificationConfig: PushNotificationConfig,
});
export type TaskPushNotificationConfig = z.infer<typeof TaskPushNotificationConfig>;

/** Options for the response to a message: accepted media types, blocking, history and webhook. */
export const MessageSendConfiguration = z.looseObject({
  acceptedOutputModes: Texts.optional(),
  /** Whether the call waits until the task is settled. Default: true. */
  blocking: z.boolean().optional(),
  historyLength,
  pushNotificationConfig: PushNotificationConfig.optional(),
});
export type MessageSendConfiguration = z.infer<typeof MessageSendConfiguration>;

/** The parameters for sending a message. */
export const MessageSendParams = z.looseObject({
  message: Message,
  configuration: MessageSendConfiguration.optional(),
  metadata: Metadata.optional(),
  tenant,
});
export type MessageSendParams = z.infer<typeof MessageSendParams>;

/** The parameters of operations on one task. */
export const TaskIdParams = z.looseObject({ id: Id, metadata: Metadata.optional(), tenant });
export type TaskIdParams = z.infer<typeof TaskIdParams>;

/** The parameters for reading a task. */
export const TaskQueryParams = z.looseObject({ ...TaskIdParams.shape, historyLength });
export type TaskQueryParams = z.infer<typeof TaskQueryParams>;

/**
 * The parameters for following a task. `after` is an addition of Parley. It is the sequence number of the last event
 * that the client has received. The stream continues after this event, without a snapshot.
 */
export const SubscribeParams = z.looseObject({
  ...TaskIdParams.shape,
  after: z.int().min(0).optional(),
});
export type SubscribeParams = z.infer<typeof SubscribeParams>;

/** The parameters for listing tasks: the filter and the page. */
export const ListTasksParams = z.looseObject({
  contextId: z.string().optional(),
  status: TaskState.optional(),
  pageSize: z.int().min(1).max(MAX_TASK_PAGE).optional(),
  pageToken: z.string().max(1024).optional(),
  historyLength,
  statusTimestampAfter: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), { message: 'must be a timestamp' })
    .optional(),
  includeArtifacts: z.boolean().optional(),
  tenant,
});
export type ListTasksParams = z.infer<typeof ListTasksParams>;

/** One page of tasks. */
export const ListTasksResult = z.looseObject({
  tasks: z.array(Task),
  /** The token of the next page, or an empty string on the last page. */
  nextPageToken: z.string(),
  pageSize: z.int(),
  totalSize: z.int(),
});
export type ListTasksResult = z.infer<typeof ListTasksResult>;

/**
 * The parameters for reading a webhook. In 0.3, the id of the configuration is optional. If it is missing, the task's
 * first configuration is read.
 */
export const GetPushConfigParams = z.looseObject({
  ...TaskIdParams.shape,
  pushNotificationConfigId: Id.optional(),
});
export type GetPushConfigParams = z.infer<typeof GetPushConfigParams>;

/** The parameters for deleting a webhook. */
export const DeletePushConfigParams = z.looseObject({
  ...TaskIdParams.shape,
  pushNotificationConfigId: Id,
});
export type DeletePushConfigParams = z.infer<typeof DeletePushConfigParams>;

/** The parameters for setting a webhook. */
export const SetPushConfigParams = z.looseObject({ ...TaskPushNotificationConfig.shape, tenant });
export type SetPushConfigParams = z.infer<typeof SetPushConfigParams>;

/** The parameters for reading the extended agent card. */
export const ExtendedCardParams = z.looseObject({ tenant });
export type ExtendedCardParams = z.infer<typeof ExtendedCardParams>;
