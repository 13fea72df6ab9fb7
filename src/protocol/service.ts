/**
 * An agent, seen from outside: the operations of the protocol as one interface.
 *
 * The server's handler implements it, and so does every client binding. A program that has one cannot tell whether
 * the agent is in the same process or across the network.
 */
import type { AgentCard } from './card.ts';
import type * as params from './params.ts';
import type { SendResult, StreamEvent, Task } from './task.ts';
import type { ProtocolVersion } from './version.ts';

/** Who asks. Tasks belong to their user and tenant. */
export interface User {
  readonly id: string;
  readonly tenant?: string;
  readonly [key: string]: unknown;
}

/** What goes along with a call, beside its parameters. */
export interface Call {
  /** The authenticated user. Set by the server's transport, never by a peer. */
  readonly user?: User | undefined;
  /** URIs of the extensions that are active for this call. */
  readonly extensions?: readonly string[] | undefined;
  /** Servers: the version of the wire on which the call came. */
  readonly version?: ProtocolVersion | undefined;
  /** Servers: the address at which the caller reaches the agent, without a slash at the end. */
  readonly base?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Clients: headers for this request alone. Servers: not set. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** One event of a stream. `seq` is its place in the task's log, where the peer says it. */
export interface StreamItem {
  readonly event: StreamEvent;
  readonly seq?: number | undefined;
}

/** Parameters and result of the operations that answer once. */
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

/** Each rejects if the request is refused, and resolves once the first event is sure to come. */
export type StreamService = {
  [O in keyof StreamTypes]: (
    params: StreamTypes[O]['params'],
    call?: Call,
  ) => Promise<AsyncIterable<StreamItem>>;
};

/**
 * The operations of the protocol. A server's handler and every client binding implement it.
 *
 *   const task = await service.getTask({ id });
 */
export interface AgentService extends UnaryService, StreamService {}
