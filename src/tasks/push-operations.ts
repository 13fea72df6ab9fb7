/** The operations on push notification configurations. */
import {
  A2AError,
  type AgentService,
  type Call,
  type DeletePushConfigParams,
  type MessageSendParams,
  type GetPushConfigParams,
  type SetPushConfigParams,
  type TaskIdParams,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import type { LiveTask } from './log/event-log.ts';
import type { PushNotifier, PushOrigin } from './push.ts';
import type { Runtime } from './runtime.ts';
import { scopeOf, wireOf } from './scope.ts';
import type { PushRecord } from './store/store.ts';

type PushOperations = Pick<
  AgentService,
  'setPushConfig' | 'getPushConfig' | 'listPushConfigs' | 'deletePushConfig'
>;

export function pushOperations(runtime: Runtime): PushOperations {
  const { store } = runtime;

  function supported(): PushNotifier {
    if (!runtime.push) throw new A2AError('pushNotSupported');
    return runtime.push;
  }

  async function setPushConfig(
    params: SetPushConfigParams,
    call: Call = {},
  ): Promise<TaskPushNotificationConfig> {
    const push = supported();
    using live = await runtime.open(scopeOf(call, params.tenant), params.taskId);
    const origin = await originOf(runtime, call, live);
    const record = await push.save(live.taskId, params.pushNotificationConfig, origin);
    if (live.running) await push.attach(live, live.stored);
    return shown(record);
  }

  async function getPushConfig(
    params: GetPushConfigParams,
    call: Call = {},
  ): Promise<TaskPushNotificationConfig> {
    supported();
    using task = await runtime.open(scopeOf(call, params.tenant), params.id);
    const records = await store.listPush(task.taskId);
    const { pushNotificationConfigId: id } = params;
    const record = id === undefined ? records[0] : records.find(({ config }) => config.id === id);
    if (!record) throw new A2AError('taskNotFound', 'Push configuration not found');
    return shown(record);
  }

  async function listPushConfigs(
    params: TaskIdParams,
    call: Call = {},
  ): Promise<TaskPushNotificationConfig[]> {
    supported();
    using task = await runtime.open(scopeOf(call, params.tenant), params.id);
    return (await store.listPush(task.taskId)).map(shown);
  }

  async function deletePushConfig(params: DeletePushConfigParams, call: Call = {}): Promise<null> {
    const push = supported();
    using task = await runtime.open(scopeOf(call, params.tenant), params.id);
    await push.remove(task.taskId, params.pushNotificationConfigId);
    return null;
  }

  return { setPushConfig, getPushConfig, listPushConfigs, deletePushConfig };
}

/** Returns what is stored of a request with the webhook that it sets. */
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
