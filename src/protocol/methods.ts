/** The one table of methods: what each operation is called on every wire, and what it takes. */
import * as z from 'zod';
import { AgentCard } from './card.ts';
import * as params from './params.ts';
import type { AgentService } from './service.ts';
import { SendResult, StreamEvent, Task } from './task.ts';
import type { ProtocolVersion } from './version.ts';

export type Operation = keyof AgentService;

interface RestRoute {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** `{name}` stands for one path segment and becomes that parameter. */
  readonly path: string;
}

interface Method {
  /** The JSON-RPC names. 0.3 has none for ListTasks; we accept the name that its successors gave it. */
  readonly names: Readonly<Record<ProtocolVersion, string>>;
  readonly rest: Readonly<Record<ProtocolVersion, readonly RestRoute[]>>;
  readonly params: z.ZodType;
  /** What it answers; for a stream, one event of it. */
  readonly result: z.ZodType;
  readonly stream: boolean;
}

/** 0.3's REST paths are 1.0's with /v1 in front. */
function routes(...list: readonly [verb: RestRoute['verb'], path: string][]): Method['rest'] {
  return {
    '0.3': list.map(([verb, path]) => ({ verb, path: `/v1${path}` })),
    '1.0': list.map(([verb, path]) => ({ verb, path })),
  };
}

const PUSH = '/tasks/{id}/pushNotificationConfigs';

export const METHODS = {
  sendMessage: {
    names: { '0.3': 'message/send', '1.0': 'SendMessage' },
    rest: routes(['POST', '/message:send']),
    params: params.MessageSendParams,
    result: SendResult,
    stream: false,
  },
  streamMessage: {
    names: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
    rest: routes(['POST', '/message:stream']),
    params: params.MessageSendParams,
    result: StreamEvent,
    stream: true,
  },
  getTask: {
    names: { '0.3': 'tasks/get', '1.0': 'GetTask' },
    rest: routes(['GET', '/tasks/{id}']),
    params: params.TaskQueryParams,
    result: Task,
    stream: false,
  },
  listTasks: {
    names: { '0.3': 'tasks/list', '1.0': 'ListTasks' },
    rest: routes(['GET', '/tasks']),
    params: params.ListTasksParams,
    result: params.ListTasksResult,
    stream: false,
  },
  cancelTask: {
    names: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
    rest: routes(['POST', '/tasks/{id}:cancel']),
    params: params.TaskIdParams,
    result: Task,
    stream: false,
  },
  subscribe: {
    names: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
    // The text of the specification says POST, its proto says GET: both are answered.
    rest: routes(['GET', '/tasks/{id}:subscribe'], ['POST', '/tasks/{id}:subscribe']),
    params: params.SubscribeParams,
    result: StreamEvent,
    stream: true,
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
  },
  getPushConfig: {
    names: { '0.3': 'tasks/pushNotificationConfig/get', '1.0': 'GetTaskPushNotificationConfig' },
    rest: routes(['GET', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.GetPushConfigParams,
    result: params.TaskPushNotificationConfig,
    stream: false,
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
  },
} as const satisfies Record<Operation, Method>;

export const OPERATIONS = Object.keys(METHODS) as Operation[];

const byName: Readonly<Record<ProtocolVersion, ReadonlyMap<string, Operation>>> = {
  '0.3': new Map(OPERATIONS.map((op) => [METHODS[op].names['0.3'], op])),
  '1.0': new Map(OPERATIONS.map((op) => [METHODS[op].names['1.0'], op])),
};

/** The operation that a JSON-RPC method name stands for in a version; a name that is not in its table does not exist. */
export function operationOf(version: ProtocolVersion, method: string): Operation | undefined {
  return byName[version].get(method);
}

/** The parameters of an operation, in the inner shape. */
export type ParamsOf<O extends Operation> = Parameters<AgentService[O]>[0];
/** What an operation answers; for a stream, one event. */
export type ResultOf<O extends Operation> = z.infer<(typeof METHODS)[O]['result']>;

export type StreamOperation = {
  [O in Operation]: (typeof METHODS)[O]['stream'] extends true ? O : never;
}[Operation];
export type UnaryOperation = Exclude<Operation, StreamOperation>;

export function isStream(operation: Operation): operation is StreamOperation {
  return METHODS[operation].stream;
}
