/**
 * The operations of the protocol as one interface.
 *
 * The server's handler and every client binding implement this interface. So a program uses an agent in the same way in
 * its own process and across the network.
 */
import type { AgentCard } from './card.ts';
import type * as params from './params.ts';
import type { SendResult, StreamEvent, Task } from './task.ts';
import type { ProtocolVersion } from './version.ts';

/** The caller. Tasks belong to a user and a tenant. */
export interface User {
  readonly id: string;
  readonly tenant?: string;
  readonly [key: string]: unknown;
}

/** Data about a call, in addition to its parameters. */
export interface Call {
  /** The authenticated user. Only the server sets this field. A client cannot send it. */
  readonly user?: User | undefined;
  /** URIs of the extensions that are active for this call. */
  readonly extensions?: readonly string[] | undefined;
  /** On servers: the protocol version of the request. Not used by clients. */
  readonly version?: ProtocolVersion | undefined;
  /** On servers: the URL at which the caller reaches the agent, without a trailing slash. Not used by clients. */
  readonly base?: string | undefined;
  /** On servers: the header `traceparent` of the request, which may be invalid. Not used by clients. */
  readonly traceparent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** On clients: additional headers for this request. Not used by servers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * One event of a stream. `seq` is the event's sequence number in the task's log, or undefined if the peer does not
 * send it.
 */
export interface StreamItem {
  readonly event: StreamEvent;
  readonly seq?: number | undefined;
}

/** Parameters and results of the operations that have one result. */
export interface UnaryTypes {
  sendMessage: { params: params.MessageSendParams; result: SendResult };
  getTask: { params: params.TaskQueryParams; result: Task };
  listTasks: { params: params.ListTasksParams; result: params.ListTasksResult };
  cancelTask: { params: params.TaskIdParams; result: Task };
  setPushConfig: {
    params: params.SetPushConfigParams;
    result: params.TaskPushNotificationConfig;
  };
  getPushConfig: {
    params: params.GetPushConfigParams;
    result: params.TaskPushNotificationConfig;
  };
  listPushConfigs: {
    params: params.TaskIdParams;
    result: params.TaskPushNotificationConfig[];
  };
  deletePushConfig: { params: params.DeletePushConfigParams; result: null };
  getExtendedCard: { params: params.ExtendedCardParams; result: AgentCard };
}

/** Parameters of the operations that stream. */
export interface StreamTypes {
  streamMessage: { params: params.MessageSendParams };
  subscribe: { params: params.SubscribeParams };
}

/** The operations that have one result. */
export type UnaryService = {
  [O in keyof UnaryTypes]: (
    params: UnaryTypes[O]['params'],
    call?: Call,
  ) => Promise<UnaryTypes[O]['result']>;
};

/**
 * The operations that stream. The promise resolves when the agent has accepted the request, and rejects if the agent
 * refuses it.
 */
export type StreamService = {
  [O in keyof StreamTypes]: (
    params: StreamTypes[O]['params'],
    call?: Call,
  ) => Promise<AsyncIterable<StreamItem>>;
};

/**
 * The operations of the protocol. The server's handler and every client binding implement this interface.
 *
 *   const task = await service.getTask({ id });
 */
export interface AgentService extends UnaryService, StreamService {}
