/** The table of operations: their names on every wire, their parameters and results, and what they read or write. */
import * as z from 'zod';
import { AgentCard } from './card.ts';
import * as params from './params.ts';
import type { AgentService, Call, StreamItem, StreamTypes, UnaryTypes } from './service.ts';
import { SendResult, StreamEvent, Task } from './task.ts';
import type { ProtocolVersion } from './version.ts';

/** The name of an operation that has one result. */
export type UnaryOperation = keyof UnaryTypes;
/** The name of an operation that streams. */
export type StreamOperation = keyof StreamTypes;
/** The name of an operation. */
export type Operation = UnaryOperation | StreamOperation;

/** The parameters of an operation, in the inner shape. */
export type ParamsOf<O extends Operation> = (UnaryTypes & StreamTypes)[O]['params'];
/** The result of an operation that answers once. */
export type ResultOf<O extends UnaryOperation> = UnaryTypes[O]['result'];

interface RestRoute {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** `{name}` stands for one path segment and becomes that parameter. */
  readonly path: string;
}

/** What an operation does, for those who decide whether a caller may use it. */
export interface OperationAccess {
  readonly access: 'read' | 'write';
  readonly on: 'message' | 'task' | 'pushConfig' | 'card';
}

interface Method<Params> extends OperationAccess {
  /** The JSON-RPC names. 0.3 has no ListTasks; we accept the name that later drafts gave it. */
  readonly names: Readonly<Record<ProtocolVersion, string>>;
  readonly rest: Readonly<Record<ProtocolVersion, readonly [RestRoute, ...RestRoute[]]>>;
  readonly params: z.ZodType<Params>;
  /** For a stream: one event. */
  readonly result: z.ZodType;
  readonly stream: boolean;
}

type VerbAndPath = readonly [verb: RestRoute['verb'], path: string];

/** The REST paths of 0.3 are those of 1.0 with the prefix /v1. */
function routes(first: VerbAndPath, ...others: VerbAndPath[]): Method<unknown>['rest'] {
  const under =
    (prefix: string) =>
    ([verb, path]: VerbAndPath): RestRoute => ({ verb, path: prefix + path });
  return {
    '0.3': [under('/v1')(first), ...others.map(under('/v1'))],
    '1.0': [under('')(first), ...others.map(under(''))],
  };
}

const PUSH = '/tasks/{id}/pushNotificationConfigs';

export const METHODS: { readonly [O in Operation]: Method<ParamsOf<O>> } = {
  sendMessage: {
    names: { '0.3': 'message/send', '1.0': 'SendMessage' },
    rest: routes(['POST', '/message:send']),
    params: params.MessageSendParams,
    result: SendResult,
    stream: false,
    access: 'write',
    on: 'message',
  },
  streamMessage: {
    names: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
    rest: routes(['POST', '/message:stream']),
    params: params.MessageSendParams,
    result: StreamEvent,
    stream: true,
    access: 'write',
    on: 'message',
  },
  getTask: {
    names: { '0.3': 'tasks/get', '1.0': 'GetTask' },
    rest: routes(['GET', '/tasks/{id}']),
    params: params.TaskQueryParams,
    result: Task,
    stream: false,
    access: 'read',
    on: 'task',
  },
  listTasks: {
    names: { '0.3': 'tasks/list', '1.0': 'ListTasks' },
    rest: routes(['GET', '/tasks']),
    params: params.ListTasksParams,
    result: params.ListTasksResult,
    stream: false,
    access: 'read',
    on: 'task',
  },
  cancelTask: {
    names: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
    rest: routes(['POST', '/tasks/{id}:cancel']),
    params: params.TaskIdParams,
    result: Task,
    stream: false,
    access: 'write',
    on: 'task',
  },
  subscribe: {
    names: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
    // The specification's text says POST and its proto says GET, so both work.
    rest: routes(['GET', '/tasks/{id}:subscribe'], ['POST', '/tasks/{id}:subscribe']),
    params: params.SubscribeParams,
    result: StreamEvent,
    stream: true,
    access: 'read',
    on: 'task',
  },
  setPushConfig: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/set',
      '1.0': 'CreateTaskPushNotificationConfig',
    },
    rest: routes(['POST', PUSH]),
    params: params.SetPushConfigParams,
    result: params.TaskPushNotificationConfig,
    stream: false,
    access: 'write',
    on: 'pushConfig',
  },
  getPushConfig: {
    names: { '0.3': 'tasks/pushNotificationConfig/get', '1.0': 'GetTaskPushNotificationConfig' },
    rest: routes(['GET', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.GetPushConfigParams,
    result: params.TaskPushNotificationConfig,
    stream: false,
    access: 'read',
    on: 'pushConfig',
  },
  listPushConfigs: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/list',
      '1.0': 'ListTaskPushNotificationConfigs',
    },
    rest: routes(['GET', PUSH]),
    params: params.TaskIdParams,
    result: z.array(params.TaskPushNotificationConfig),
    stream: false,
    access: 'read',
    on: 'pushConfig',
  },
  deletePushConfig: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/delete',
      '1.0': 'DeleteTaskPushNotificationConfig',
    },
    rest: routes(['DELETE', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.DeletePushConfigParams,
    result: z.null(),
    stream: false,
    access: 'write',
    on: 'pushConfig',
  },
  getExtendedCard: {
    names: { '0.3': 'agent/getAuthenticatedExtendedCard', '1.0': 'GetExtendedAgentCard' },
    rest: {
      '0.3': [{ verb: 'GET', path: '/v1/card' }],
      '1.0': [{ verb: 'GET', path: '/extendedAgentCard' }],
    },
    params: params.ExtendedCardParams,
    result: AgentCard,
    stream: false,
    access: 'read',
    on: 'card',
  },
};

export const OPERATIONS = Object.keys(METHODS) as Operation[];

const byName: Readonly<Record<ProtocolVersion, ReadonlyMap<string, Operation>>> = {
  '0.3': new Map(OPERATIONS.map((op) => [METHODS[op].names['0.3'], op])),
  '1.0': new Map(OPERATIONS.map((op) => [METHODS[op].names['1.0'], op])),
};

/** The operation that a JSON-RPC method name stands for in a version. Undefined: the version has no such method. */
export function operationOf(version: ProtocolVersion, method: string): Operation | undefined {
  return byName[version].get(method);
}

export function isStream(operation: Operation): operation is StreamOperation {
  return METHODS[operation].stream;
}

/** How `mapOperations` makes the operations of a service. */
export interface OperationMaker {
  readonly unary: <O extends UnaryOperation>(
    operation: O,
  ) => (params: ParamsOf<O>, call?: Call) => Promise<ResultOf<O>>;
  readonly stream: <O extends StreamOperation>(
    operation: O,
  ) => (params: ParamsOf<O>, call?: Call) => Promise<AsyncIterable<StreamItem>>;
}

/** Makes a service out of one function for all operations that answer once, and one for those that stream. */
export function mapOperations({ unary, stream }: OperationMaker): AgentService {
  return {
    sendMessage: unary('sendMessage'),
    streamMessage: stream('streamMessage'),
    getTask: unary('getTask'),
    listTasks: unary('listTasks'),
    cancelTask: unary('cancelTask'),
    subscribe: stream('subscribe'),
    setPushConfig: unary('setPushConfig'),
    getPushConfig: unary('getPushConfig'),
    listPushConfigs: unary('listPushConfigs'),
    deletePushConfig: unary('deletePushConfig'),
    getExtendedCard: unary('getExtendedCard'),
  };
}
