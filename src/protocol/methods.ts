/**
 * The table of operations. It has their names and REST routes in each protocol version, their parameters and results,
 * and the access that they need.
 */
import type * as z from 'zod';
import * as params from './params.ts';
import type {
  AgentService,
  Call,
  StreamItem,
  StreamService,
  StreamTypes,
  UnaryService,
  UnaryTypes,
} from './service.ts';
import type { ProtocolVersion } from './version.ts';

/** The paths of an agent's card. Clients try them in this order. */
export const CARD_PATHS: readonly string[] = [
  '/.well-known/agent-card.json',
  '/.well-known/agent.json',
];

/** The name of an operation that has one result. */
export type UnaryOperation = keyof UnaryTypes;
/** The name of an operation that streams. */
export type StreamOperation = keyof StreamTypes;
/** The name of an operation. */
export type Operation = UnaryOperation | StreamOperation;

/** The parameters of an operation, in the internal format. */
export type ParamsOf<O extends Operation> = (UnaryTypes & StreamTypes)[O]['params'];
/** The result of an operation that has one result. */
export type ResultOf<O extends UnaryOperation> = UnaryTypes[O]['result'];

/** An HTTP method and a path. */
export interface RestRoute {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** The path. `{name}` is a parameter. It stands for one path segment, or for a part of one as in `{id}:cancel`. */
  readonly path: string;
}

/** The kind of access that an operation needs. It is used to decide whether a caller may use the operation. */
export interface OperationAccess {
  readonly access: 'read' | 'write';
  readonly on: 'message' | 'task' | 'pushConfig' | 'card';
}

interface Method<Params> extends OperationAccess {
  /** The JSON-RPC method names. 0.3 has no ListTasks, so the name from later drafts is used. */
  readonly names: Readonly<Record<ProtocolVersion, string>>;
  readonly rest: Readonly<Record<ProtocolVersion, readonly [RestRoute, ...RestRoute[]]>>;
  readonly params: z.ZodType<Params>;
}

type VerbAndPath = readonly [verb: RestRoute['verb'], path: string];

/** Makes the REST routes of both versions. The paths of 0.3 are the paths of 1.0 with the prefix /v1. */
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
const SUBSCRIBE = '/tasks/{id}:subscribe';

export const METHODS: { readonly [O in Operation]: Method<ParamsOf<O>> } = {
  sendMessage: {
    names: { '0.3': 'message/send', '1.0': 'SendMessage' },
    rest: routes(['POST', '/message:send']),
    params: params.MessageSendParams,
    access: 'write',
    on: 'message',
  },
  streamMessage: {
    names: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
    rest: routes(['POST', '/message:stream']),
    params: params.MessageSendParams,
    access: 'write',
    on: 'message',
  },
  getTask: {
    names: { '0.3': 'tasks/get', '1.0': 'GetTask' },
    rest: routes(['GET', '/tasks/{id}']),
    params: params.TaskQueryParams,
    access: 'read',
    on: 'task',
  },
  listTasks: {
    names: { '0.3': 'tasks/list', '1.0': 'ListTasks' },
    rest: routes(['GET', '/tasks']),
    params: params.ListTasksParams,
    access: 'read',
    on: 'task',
  },
  cancelTask: {
    names: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
    rest: routes(['POST', '/tasks/{id}:cancel']),
    params: params.TaskIdParams,
    access: 'write',
    on: 'task',
  },
  subscribe: {
    names: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
    // The text of the 1.0 specification requires POST, and its protobuf definition requires GET, so both are
    // accepted. Clients try the first route first. Most servers of 1.0 support only POST, and Python's server of 0.3
    // supports only GET.
    rest: {
      '0.3': routes(['GET', SUBSCRIBE], ['POST', SUBSCRIBE])['0.3'],
      '1.0': routes(['POST', SUBSCRIBE], ['GET', SUBSCRIBE])['1.0'],
    },
    params: params.SubscribeParams,
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
    access: 'write',
    on: 'pushConfig',
  },
  getPushConfig: {
    names: { '0.3': 'tasks/pushNotificationConfig/get', '1.0': 'GetTaskPushNotificationConfig' },
    rest: routes(['GET', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.GetPushConfigParams,
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
    access: 'read',
    on: 'card',
  },
};

export const OPERATIONS = Object.keys(METHODS) as Operation[];

const byName: Readonly<Record<ProtocolVersion, ReadonlyMap<string, Operation>>> = {
  '0.3': new Map(OPERATIONS.map((op) => [METHODS[op].names['0.3'], op])),
  '1.0': new Map(OPERATIONS.map((op) => [METHODS[op].names['1.0'], op])),
};

/** Returns the operation for a JSON-RPC method name, or undefined if the version has no such method. */
export function operationOf(version: ProtocolVersion, method: string): Operation | undefined {
  return byName[version].get(method);
}

const STREAMS: Readonly<Record<StreamOperation, true>> = { streamMessage: true, subscribe: true };

export function isStream(operation: Operation): operation is StreamOperation {
  return operation in STREAMS;
}

/** The two functions with which `mapOperations` makes the operations of a service. */
export interface OperationMaker {
  readonly unary: <O extends UnaryOperation>(
    operation: O,
  ) => (params: ParamsOf<O>, call?: Call) => Promise<ResultOf<O>>;
  readonly stream: <O extends StreamOperation>(
    operation: O,
  ) => (params: ParamsOf<O>, call?: Call) => Promise<AsyncIterable<StreamItem>>;
}

/**
 * Makes a service from two functions: `unary` makes the operations that have one result, and `stream` makes the others.
 */
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

/**
 * Wraps a service. Each operation gets the parameters that `prepare` returns. If `prepare` throws, the call rejects.
 */
export function withPreparedCalls(
  service: AgentService,
  prepare: <O extends Operation>(operation: O, params: ParamsOf<O>, call?: Call) => ParamsOf<O>,
): AgentService {
  const streams: StreamService = service;
  const others: UnaryService = service;
  return mapOperations({
    unary: (operation) => async (params, call) =>
      others[operation](prepare(operation, params, call), call),
    stream: (operation) => async (params, call) =>
      streams[operation](prepare(operation, params, call), call),
  });
}
