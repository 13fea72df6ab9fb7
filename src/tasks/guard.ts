/**
 * Wraps a handler, to check every operation before it runs, to run operations as another user, or to hide the secrets
 * of webhooks.
 */
import {
  type OperationAccess,
  type Call,
  type Message,
  type Metadata,
  METHODS,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import type { RequestHandler } from './handler.ts';

/** The access that each operation of `RequestHandler` needs. METHODS has the operations of the protocol. */
const OPERATIONS = {
  ...METHODS,
  reserveTask: { access: 'write', on: 'task' },
  readLog: { access: 'read', on: 'task' },
  updatedAt: { access: 'read', on: 'task' },
  removeTask: { access: 'write', on: 'task' },
  listDeadLetters: { access: 'read', on: 'pushConfig' },
  retryDeadLetters: { access: 'write', on: 'pushConfig' },
} satisfies Readonly<Record<string, OperationAccess>>;

/** The parameters that a check may use, if the operation has them. */
export interface CheckedParams {
  readonly message?: Message;
  readonly metadata?: Metadata | undefined;
  readonly tenant?: string | undefined;
}

/** Called before an operation. Throws an A2AError to refuse it. */
export type CheckAccess = (operation: OperationAccess, params: CheckedParams, call: Call) => void;

/**
 * Wraps a handler so that `check` runs before every operation that has a caller. The returned handler has only the
 * operations that `mapCalls` lists, so a new operation cannot bypass the check.
 *
 *   guardHandler(handler, ({ access }, _params, { user }) => { if (access === 'write') requireWriter(user); });
 */
export function guardHandler(handler: RequestHandler, check: CheckAccess): RequestHandler {
  return mapCalls(handler, (operation, params, call) => {
    check(operation, params, call);
    return call;
  });
}

/**
 * Returns the call with another user, another version or other extensions. In the call of a request, `signal`, `base`
 * and `traceparent` are getters of its class. A spread (`...call`) would lose them.
 */
export function callWith(call: Call, changed: Pick<Call, 'user' | 'version' | 'extensions'>): Call {
  const { user, extensions, version, headers } = call;
  return {
    user,
    extensions,
    version,
    headers,
    ...changed,
    get signal() {
      return call.signal;
    },
    get base() {
      return call.base;
    },
    get traceparent() {
      return call.traceparent;
    },
  } satisfies Record<keyof Call, unknown>;
}

/**
 * Wraps a handler so that every operation that has a caller gets the call that `map` returns, for example with another
 * user.
 */
export function mapCalls(
  handler: RequestHandler,
  map: (...operation: Parameters<CheckAccess>) => Call,
): RequestHandler {
  function guard<Params extends CheckedParams, Extra, Result>(
    operation: keyof typeof OPERATIONS,
    run: (params: Params, call?: Call, extra?: Extra) => Promise<Result>,
  ) {
    const access: OperationAccess = OPERATIONS[operation];
    // This function is not async, because an async function creates further promises for every request.
    return (params: Params, call: Call = {}, extra?: Extra): Promise<Result> => {
      try {
        return run(params, map(access, params, call), extra);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  }

  return {
    sendMessage: guard('sendMessage', handler.sendMessage),
    streamMessage: guard('streamMessage', handler.streamMessage),
    getTask: guard('getTask', handler.getTask),
    listTasks: guard('listTasks', handler.listTasks),
    cancelTask: guard('cancelTask', handler.cancelTask),
    subscribe: guard('subscribe', handler.subscribe),
    setPushConfig: guard('setPushConfig', handler.setPushConfig),
    getPushConfig: guard('getPushConfig', handler.getPushConfig),
    listPushConfigs: guard('listPushConfigs', handler.listPushConfigs),
    deletePushConfig: guard('deletePushConfig', handler.deletePushConfig),
    getExtendedCard: guard('getExtendedCard', handler.getExtendedCard),
    reserveTask: guard('reserveTask', handler.reserveTask),
    readLog: guard('readLog', handler.readLog),
    updatedAt: guard('updatedAt', handler.updatedAt),
    removeTask: guard('removeTask', handler.removeTask),
    listDeadLetters: guard('listDeadLetters', handler.listDeadLetters),
    retryDeadLetters: guard('retryDeadLetters', handler.retryDeadLetters),
    recover: () => handler.recover(),
    expire: (options) => handler.expire(options),
    close: (ms) => handler.close(ms),
    get running() {
      return handler.running;
    },
  };
}

/**
 * Wraps a handler. If `from` returns true for a call, the call reads configurations of webhooks without their secrets.
 * Use this if a task belongs to several callers. Otherwise a caller could read the secrets of the others.
 */
export function hidePushSecrets(
  handler: RequestHandler,
  from: (call: Call) => boolean,
): RequestHandler {
  return {
    ...handler,
    async getPushConfig(params, call = {}) {
      const found = await handler.getPushConfig(params, call);
      return from(call) ? withoutSecrets(found) : found;
    },
    async listPushConfigs(params, call = {}) {
      const found = await handler.listPushConfigs(params, call);
      return from(call) ? found.map(withoutSecrets) : found;
    },
    get running() {
      return handler.running;
    },
  };
}

function withoutSecrets(found: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { token: _token, ...config } = found.pushNotificationConfig;
  if (!config.authentication) return { ...found, pushNotificationConfig: config };
  const { credentials: _credentials, ...authentication } = config.authentication;
  return { ...found, pushNotificationConfig: { ...config, authentication } };
}
