/**
 * The codec of the REST and gRPC bindings of 0.3. It writes ProtoJSON of `a2a.v1`, not the JSON of the JSON-RPC
 * binding.
 *
 * The specification puts a result into a member that is named after its kind (sections 7.1 and 7.9). For everything
 * else, it requires "structurally equivalent" JSON (section 3.2.3). But both public SDKs of 0.3 and the compatibility
 * kit read only the protobuf mapping, which has other names and enumerations. So this codec writes the protobuf
 * mapping. It reads both formats, with the help of v03.ts.
 */
import type { Artifact, Message, Part } from '../message.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type {
  MessageSendParams,
  SetPushConfigParams,
  TaskPushNotificationConfig,
} from '../params.ts';
import type { StreamEvent, Task, TaskStatus } from '../task.ts';
import { encodeCardV03Rest } from './card.ts';
import type { WireCodec } from './codec.ts';
import { ROLE_NAMES, STATE_NAMES } from './enums.ts';
import { NAMES_V03, withJsonNames } from './proto-names.ts';
import type { Raw } from './read.ts';
import { encodePart as encodeJsonPart, v03 } from './v03.ts';

function encodePart(given: Part): Raw {
  const part = encodeJsonPart(given);
  const out: Raw = {};
  if (part.kind === 'text') {
    out.text = part.text;
  } else if (part.kind === 'data') {
    out.data = { data: part.data };
  } else {
    const { bytes, uri, mimeType, name } = part.file;
    const file: Raw = uri === undefined ? { fileWithBytes: bytes } : { fileWithUri: uri };
    if (mimeType !== undefined) file.mimeType = mimeType;
    if (name !== undefined) file.name = name;
    out.file = file;
  }
  if (part.metadata !== undefined) out.metadata = part.metadata;
  return out;
}

/**
 * Encodes a message without `referenceTaskIds`. The protobuf definition of 0.3 does not have this field, and strict
 * peers reject unknown fields.
 */
function encodeMessage(message: Message): Raw {
  const out: Raw = { messageId: message.messageId };
  if (message.contextId !== undefined) out.contextId = message.contextId;
  if (message.taskId !== undefined) out.taskId = message.taskId;
  out.role = ROLE_NAMES[message.role];
  out.content = message.parts.map(encodePart);
  if (message.metadata !== undefined) out.metadata = message.metadata;
  if (message.extensions !== undefined) out.extensions = message.extensions;
  return out;
}

function encodeArtifact(artifact: Artifact): Raw {
  const out: Raw = { artifactId: artifact.artifactId };
  if (artifact.name !== undefined) out.name = artifact.name;
  if (artifact.description !== undefined) out.description = artifact.description;
  out.parts = artifact.parts.map(encodePart);
  if (artifact.metadata !== undefined) out.metadata = artifact.metadata;
  if (artifact.extensions !== undefined) out.extensions = artifact.extensions;
  return out;
}

function encodeStatus({ state, message, timestamp }: TaskStatus): Raw {
  // Only the protobuf definition of 0.3 spells this name with a double L.
  const name = state === 'canceled' ? 'TASK_STATE_CANCELLED' : STATE_NAMES[state];
  const out: Raw = { state: name };
  if (message !== undefined) out.message = encodeMessage(message);
  if (timestamp !== undefined) out.timestamp = timestamp;
  return out;
}

function encodeTask(task: Task): Raw {
  const out: Raw = { id: task.id, contextId: task.contextId, status: encodeStatus(task.status) };
  if (task.artifacts !== undefined) out.artifacts = task.artifacts.map(encodeArtifact);
  if (task.history !== undefined) out.history = task.history.map(encodeMessage);
  if (task.metadata !== undefined) out.metadata = task.metadata;
  return out;
}

function encodeEvent(event: StreamEvent): Raw {
  switch (event.kind) {
    case 'task':
      return { task: encodeTask(event) };
    case 'message':
      return { message: encodeMessage(event) };
    case 'status-update': {
      const { taskId, contextId, final, metadata } = event;
      const statusUpdate: Raw = { taskId, contextId, status: encodeStatus(event.status), final };
      if (metadata !== undefined) statusUpdate.metadata = metadata;
      return { statusUpdate };
    }
    default: {
      const { taskId, contextId, append, lastChunk, metadata } = event;
      const artifactUpdate: Raw = { taskId, contextId, artifact: encodeArtifact(event.artifact) };
      if (append !== undefined) artifactUpdate.append = append;
      if (lastChunk !== undefined) artifactUpdate.lastChunk = lastChunk;
      if (metadata !== undefined) artifactUpdate.metadata = metadata;
      return { artifactUpdate };
    }
  }
}

function encodeTaskPush({ taskId, pushNotificationConfig }: TaskPushNotificationConfig): Raw {
  const { id = '', url, token, authentication } = pushNotificationConfig;
  const config: Raw = { id, url };
  if (token !== undefined) config.token = token;
  if (authentication !== undefined) config.authentication = authentication;
  const name = `tasks/${taskId}/pushNotificationConfigs/${id}`;
  return { name, pushNotificationConfig: config };
}

function encodeSetPush(params: SetPushConfigParams): Raw {
  const { id = '' } = params.pushNotificationConfig;
  return { parent: `tasks/${params.taskId}`, configId: id, config: encodeTaskPush(params) };
}

function encodeSend({ message, configuration, ...rest }: MessageSendParams): Raw {
  const out: Raw = { ...rest, message: encodeMessage(message) };
  if (configuration) {
    const { pushNotificationConfig, blocking = true, ...others } = configuration;
    out.configuration = {
      ...others,
      // The field is always written, because a missing value means false here, but true in JSON-RPC.
      blocking,
      ...(pushNotificationConfig && { pushNotification: pushNotificationConfig }),
    };
  }
  return out;
}

const encodeParams: { readonly [O in Operation]?: (params: ParamsOf<O>) => unknown } = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  setPushConfig: encodeSetPush,
};

const encodeResult: { readonly [O in UnaryOperation]: (result: ResultOf<O>) => unknown } = {
  sendMessage: encodeEvent,
  getTask: encodeTask,
  listTasks: (page) => ({ ...page, tasks: page.tasks.map(encodeTask) }),
  cancelTask: encodeTask,
  setPushConfig: encodeTaskPush,
  getPushConfig: encodeTaskPush,
  listPushConfigs: (configs) => ({ configs: configs.map(encodeTaskPush) }),
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCardV03Rest,
};

const named = (raw: unknown): unknown => withJsonNames(raw, NAMES_V03);

/** The codec of A2A 0.3, for REST and gRPC. */
export const v03Rest: WireCodec = {
  ...v03,
  decodeParams: (operation, raw) => v03.decodeParams(operation, named(raw)),
  encodeParams: (operation, params) =>
    (encodeParams[operation] ?? v03.encodeParams.bind(v03, operation))(params),
  encodeResult: (operation, result) => encodeResult[operation](result),
  decodeResult: (operation, raw) => v03.decodeResult(operation, named(raw)),
  encodeEvent,
  decodeEvent: (raw) => v03.decodeEvent(named(raw)),
};
