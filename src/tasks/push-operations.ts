/** The operations on push notification configurations. */
import {
  A2AError,
  type AgentService,
  type Call,
  type DeletePushConfigParams,
  type MessageSendParams,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import type { LiveTask } from './log/live-task.ts';
import type { PushNotifier, PushOrigin } from './push/notifier.ts';
import type { Runtime } from './runtime.ts';
import { scopeOf, wireOf } from './scope.ts';
import type { DeadLetter, PushRecord } from './store/store.ts';

/**
 * Selects the dead letters of a task or of one of its webhooks. Without a task, selects the dead letters of all tasks
 * of the caller.
 */
export interface DeadLetterParams {
  readonly id?: string | undefined;
  readonly pushNotificationConfigId?: string | undefined;
  readonly tenant?: string | undefined;
}

/** The operations on dead letters, in addition to those of the protocol. */
export interface DeadLetterOperations {
  /** Returns the latest events that could not be delivered to webhooks, up to 1000, newest first. */
  listDeadLetters: (params: DeadLetterParams, call?: Call) => Promise<readonly DeadLetter[]>;
  /**
   * Sends the events of a webhook again, starting with its first dead letter. Removes the dead letters, and returns
   * their number.
   */
  retryDeadLetters: (params: DeletePushConfigParams, call?: Call) => Promise<number>;
}

type PushOperations = DeadLetterOperations &
  Pick<AgentService, 'setPushConfig' | 'getPushConfig' | 'listPushConfigs' | 'deletePushConfig'>;

export function pushOperations(runtime: Runtime): PushOperations {
  const { store } = runtime;

  function supported(): PushNotifier {
    if (!runtime.push) throw new A2AError('pushNotSupported');
    return runtime.push;
  }

  return {
    async setPushConfig(params, call = {}) {
      const push = supported();
      using live = await runtime.open(scopeOf(call, params.tenant), params.taskId);
      const origin = await originOf(runtime, call, live);
      const { taskId, stored } = live;
      const record = await push.save(taskId, params.pushNotificationConfig, origin, stored);
      await push.attach(live);
      return shown(record);
    },
    async getPushConfig(params, call = {}) {
      supported();
      using task = await runtime.open(scopeOf(call, params.tenant), params.id);
      const records = await store.listPush(task.taskId);
      const { pushNotificationConfigId: id } = params;
      const record = id === undefined ? records[0] : records.find(({ config }) => config.id === id);
      if (!record) throw new A2AError('taskNotFound', 'Push configuration not found');
      return shown(record);
    },
    async listPushConfigs(params, call = {}) {
      supported();
      using task = await runtime.open(scopeOf(call, params.tenant), params.id);
      return (await store.listPush(task.taskId)).map(shown);
    },
    async deletePushConfig(params, call = {}) {
      const push = supported();
      using task = await runtime.open(scopeOf(call, params.tenant), params.id);
      await push.remove(task.taskId, params.pushNotificationConfigId);
      return null;
    },
    async listDeadLetters(params, call = {}) {
      const push = supported();
      const { id: taskId, pushNotificationConfigId: configId } = params;
      const scope = scopeOf(call, params.tenant);
      using _task = taskId === undefined ? undefined : await runtime.open(scope, taskId);
      return await push.deadLetters(scope, { taskId, configId });
    },
    async retryDeadLetters(params, call = {}) {
      const push = supported();
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      return await push.retry(live, params.pushNotificationConfigId);
    },
  };
}

/** Returns the data about a request that is stored with a webhook: the protocol version and the view of the request. */
export async function originOf(
  runtime: Runtime,
  call: Call,
  live?: LiveTask,
  params?: MessageSendParams,
): Promise<PushOrigin> {
  const view = await runtime.viewOf(call, live, params);
  return { version: wireOf(call), view: view?.name };
}

function shown({ taskId, config }: PushRecord): TaskPushNotificationConfig {
  return { taskId, pushNotificationConfig: config };
}
