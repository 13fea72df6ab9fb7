/**
 * The request bodies of 0.3's REST binding. The specification never showed one, and the servers in use (both public
 * SDKs of 0.3) took the protobuf mapping, which differs from JSON-RPC's JSON in names and enums. So that is what we
 * send; Parley's own servers read both. Answers need nothing of the kind: the codec reads both too.
 */
import { isObject, type Operation } from '../protocol/index.ts';

type Json = Record<string, unknown>;

export function toProtoBody(operation: Operation, params: Json): Json {
  switch (operation) {
    case 'sendMessage':
    case 'streamMessage':
      return sendBody(params);
    case 'setPushConfig':
      return pushBody(params);
    default:
      return params;
  }
}

function sendBody({ message, configuration, ...rest }: Json): Json {
  const body: Json = { ...rest, message: isObject(message) ? toProtoMessage(message) : message };
  if (isObject(configuration)) {
    const { pushNotificationConfig, ...others } = configuration;
    body['configuration'] = others;
    if (pushNotificationConfig !== undefined) others['pushNotification'] = pushNotificationConfig;
  }
  return body;
}

function pushBody({ taskId, pushNotificationConfig }: Json): Json {
  const parent = `tasks/${String(taskId)}`;
  const id = isObject(pushNotificationConfig) ? pushNotificationConfig['id'] : undefined;
  const configId = typeof id === 'string' ? id : '';
  const name = `${parent}/pushNotificationConfigs/${configId}`;
  return { parent, configId, config: { name, pushNotificationConfig } };
}

/** Protobuf's message of 0.3 has no `referenceTaskIds`, and strict servers refuse what they do not know. */
function toProtoMessage(message: Json): Json {
  const { kind: _kind, referenceTaskIds: _ids, parts, role, ...rest } = message;
  return {
    ...rest,
    role: `ROLE_${String(role).toUpperCase()}`,
    content: Array.isArray(parts) ? parts.map(toProtoPart) : [],
  };
}

function toProtoPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  const { kind, text, data, file, metadata } = part;
  const extra = metadata === undefined ? {} : { metadata };
  if (kind === 'text') return { text, ...extra };
  if (kind === 'data') return { data: { data }, ...extra };
  const { uri, bytes, ...about } = isObject(file) ? file : {};
  const content = uri === undefined ? { fileWithBytes: bytes } : { fileWithUri: uri };
  return { file: { ...content, ...about }, ...extra };
}
