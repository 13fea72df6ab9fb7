/** The one table of methods: what each operation is called on every wire, and what it takes. */
import type * as z from 'zod';
import * as params from './params.ts';
import type { AgentService } from './service.ts';
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
    stream: false,
  },
  streamMessage: {
    names: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
    rest: routes(['POST', '/message:stream']),
    params: params.MessageSendParams,
    stream: true,
  },
  getTask: {
    names: { '0.3': 'tasks/get', '1.0': 'GetTask' },
    rest: routes(['GET', '/tasks/{id}']),
    params: params.TaskQueryParams,
    stream: false,
  },
  listTasks: {
    names: { '0.3': 'tasks/list', '1.0': 'ListTasks' },
    rest: routes(['GET', '/tasks']),
    params: params.ListTasksParams,
    stream: false,
  },
  cancelTask: {
    names: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
    rest: routes(['POST', '/tasks/{id}:cancel']),
    params: params.TaskIdParams,
    stream: false,
  },
  subscribe: {
    names: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
    // The text of the specification says POST, its proto says GET: both are answered.
    rest: routes(['GET', '/tasks/{id}:subscribe'], ['POST', '/tasks/{id}:subscribe']),
    params: params.SubscribeParams,
    stream: true,
  },
  setPushConfig: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/set',
      '1.0': 'CreateTaskPushNotificationConfig',
    },
    rest: routes(['POST', PUSH]),
    params: params.SetPushConfigParams,
    stream: false,
  },
  getPushConfig: {
    names: { '0.3': 'tasks/pushNotificationConfig/get', '1.0': 'GetTaskPushNotificationConfig' },
    rest: routes(['GET', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.GetPushConfigParams,
    stream: false,
  },
  listPushConfigs: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/list',
      '1.0': 'ListTaskPushNotificationConfigs',
    },
    rest: routes(['GET', PUSH]),
    params: params.TaskIdParams,
    stream: false,
  },
  deletePushConfig: {
    names: {
      '0.3': 'tasks/pushNotificationConfig/delete',
      '1.0': 'DeleteTaskPushNotificationConfig',
    },
    rest: routes(['DELETE', `${PUSH}/{pushNotificationConfigId}`]),
    params: params.DeletePushConfigParams,
    stream: false,
  },
  getExtendedCard: {
    names: { '0.3': 'agent/getAuthenticatedExtendedCard', '1.0': 'GetExtendedAgentCard' },
    rest: {
      '0.3': [{ verb: 'GET', path: '/v1/card' }],
      '1.0': [{ verb: 'GET', path: '/extendedAgentCard' }],
    },
    params: params.ExtendedCardParams,
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
export type ResultOf<O extends Operation> = Awaited<ReturnType<AgentService[O]>>;
