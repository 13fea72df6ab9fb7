/**
 * The requests of 0.3 name a task as `tasks/ID`, and a webhook as `tasks/ID/pushNotificationConfigs/ID`. This module
 * converts between these names and the parameters of the JSON codec.
 */
import { isObject } from '../../base/index.ts';
import { A2AError, type Operation } from '../../protocol/index.ts';

type Raw = Record<string, unknown>;

const NAME = /^tasks\/([^/]+)(?:\/pushNotificationConfigs(?:\/([^/]+))?)?$/;

function idsOf(name: unknown, field: string): { id: string; configId: string | undefined } {
  const [, id, configId] = (typeof name === 'string' ? NAME.exec(name) : undefined) ?? [];
  if (id === undefined) {
    const description = 'must be a resource name, such as tasks/ID';
    throw new A2AError('invalidParams', `Invalid parameters: ${field}: ${description}`, {
      violations: [{ field, description }],
    });
  }
  return { id, configId };
}

/** Returns the parameters with ids instead of resource names. */
export function withIds(operation: Operation, raw: Raw): Raw {
  switch (operation) {
    case 'getTask':
    case 'cancelTask':
    case 'subscribe': {
      const { name, ...rest } = raw;
      return { ...rest, id: idsOf(name, 'name').id };
    }
    case 'getPushConfig':
    case 'deletePushConfig': {
      const { id, configId } = idsOf(raw.name, 'name');
      return { id, ...(configId !== undefined && { pushNotificationConfigId: configId }) };
    }
    case 'listPushConfigs':
      return { id: idsOf(raw.parent, 'parent').id };
    default:
      return raw;
  }
}

/** Returns the parameters with resource names instead of ids. */
export function withNames(operation: Operation, params: unknown): unknown {
  if (!isObject(params)) return params;
  const { id, pushNotificationConfigId, ...rest } = params;
  const task = `tasks/${String(id)}`;
  switch (operation) {
    case 'getTask':
    case 'cancelTask':
    case 'subscribe':
      return { ...rest, name: task };
    case 'getPushConfig':
    case 'deletePushConfig':
      return { name: `${task}/pushNotificationConfigs/${String(pushNotificationConfigId)}` };
    case 'listPushConfigs':
      return { parent: task };
    default:
      return params;
  }
}
