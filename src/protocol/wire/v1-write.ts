/**
 * The encoder of version 1.0. In messages, tasks and events, it writes only fields of the protocol, because strict
 * ProtoJSON parsers reject other fields. Cards and the parameters for listing tasks keep their unknown fields. The
 * order of fields is fixed, so that V8 can use the same hidden class for all objects of a kind.
 */
import type { Artifact, Message, Part } from '../message.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type {
  ListTasksParams,
  MessageSendConfiguration,
  MessageSendParams,
  PushNotificationConfig,
  TaskPushNotificationConfig,
} from '../params.ts';
import type { StreamEvent, Task, TaskStatus } from '../task.ts';
import { encodeCardV1 } from './card.ts';
import { ROLE_NAMES, STATE_NAMES } from './enums.ts';
import type { Raw } from './read.ts';

function encodePart(part: Part): Raw {
  let out: Raw;
  if (part.kind === 'text') {
    out = { text: part.text };
  } else if (part.kind === 'data') {
    out = { data: part.data };
  } else {
    const { bytes, uri, mimeType, name } = part.file;
    out = bytes === undefined ? { url: uri } : { raw: bytes };
    if (name !== undefined) out.filename = name;
    if (mimeType !== undefined) out.mediaType = mimeType;
    if (part.metadata !== undefined) out.metadata = part.metadata;
    return out;
  }
  if (part.filename !== undefined) out.filename = part.filename;
  if (part.mediaType !== undefined) out.mediaType = part.mediaType;
  if (part.metadata !== undefined) out.metadata = part.metadata;
  return out;
}

function encodeParts(parts: readonly Part[]): Raw[] {
  const out: Raw[] = [];
  for (const part of parts) out.push(encodePart(part));
  return out;
}

function encodeMessage(message: Message): Raw {
  const out: Raw = { messageId: message.messageId };
  if (message.contextId !== undefined) out.contextId = message.contextId;
  if (message.taskId !== undefined) out.taskId = message.taskId;
  out.role = ROLE_NAMES[message.role];
  out.parts = encodeParts(message.parts);
  if (message.metadata !== undefined) out.metadata = message.metadata;
  if (message.extensions !== undefined) out.extensions = message.extensions;
  if (message.referenceTaskIds !== undefined) out.referenceTaskIds = message.referenceTaskIds;
  return out;
}

function encodeArtifact(artifact: Artifact): Raw {
  const out: Raw = { artifactId: artifact.artifactId };
  if (artifact.name !== undefined) out.name = artifact.name;
  if (artifact.description !== undefined) out.description = artifact.description;
  out.parts = encodeParts(artifact.parts);
  if (artifact.metadata !== undefined) out.metadata = artifact.metadata;
  if (artifact.extensions !== undefined) out.extensions = artifact.extensions;
  return out;
}

function encodeStatus(status: TaskStatus): Raw {
  const out: Raw = { state: STATE_NAMES[status.state] };
  if (status.message !== undefined) out.message = encodeMessage(status.message);
  if (status.timestamp !== undefined) out.timestamp = status.timestamp;
  return out;
}

function encodeTask(task: Task): Raw {
  const out: Raw = { id: task.id, contextId: task.contextId, status: encodeStatus(task.status) };
  if (task.artifacts !== undefined) {
    const artifacts: Raw[] = [];
    for (const artifact of task.artifacts) artifacts.push(encodeArtifact(artifact));
    out.artifacts = artifacts;
  }
  if (task.history !== undefined) {
    const history: Raw[] = [];
    for (const message of task.history) history.push(encodeMessage(message));
    out.history = history;
  }
  if (task.metadata !== undefined) out.metadata = task.metadata;
  return out;
}

export function encodeEvent(event: StreamEvent): Raw {
  switch (event.kind) {
    case 'artifact-update': {
      const artifactUpdate: Raw = {
        taskId: event.taskId,
        contextId: event.contextId,
        artifact: encodeArtifact(event.artifact),
      };
      if (event.append !== undefined) artifactUpdate.append = event.append;
      if (event.lastChunk !== undefined) artifactUpdate.lastChunk = event.lastChunk;
      if (event.metadata !== undefined) artifactUpdate.metadata = event.metadata;
      return { artifactUpdate };
    }
    case 'status-update': {
      const statusUpdate: Raw = {
        taskId: event.taskId,
        contextId: event.contextId,
        status: encodeStatus(event.status),
      };
      if (event.metadata !== undefined) statusUpdate.metadata = event.metadata;
      return { statusUpdate };
    }
    case 'task':
      return { task: encodeTask(event) };
    default:
      return { message: encodeMessage(event) };
  }
}

/** Encodes a webhook. 1.0 has only one authentication scheme, so the first scheme in the list is used. */
function encodePush(config: PushNotificationConfig): Raw {
  const { id, url, token, authentication } = config;
  const out: Raw = id === undefined ? { url } : { id, url };
  if (token !== undefined) out.token = token;
  if (authentication !== undefined) {
    const inside: Raw = { scheme: authentication.schemes[0] };
    if (authentication.credentials !== undefined) inside.credentials = authentication.credentials;
    out.authentication = inside;
  }
  return out;
}

function encodeTaskPush(config: TaskPushNotificationConfig): Raw {
  const { taskId, pushNotificationConfig, tenant } = config;
  const out: Raw = { taskId, ...encodePush(pushNotificationConfig) };
  if (tenant !== undefined) out.tenant = tenant;
  return out;
}

function encodeConfiguration(configuration: MessageSendConfiguration): Raw {
  const { acceptedOutputModes, blocking, historyLength, pushNotificationConfig } = configuration;
  const out: Raw = {};
  if (acceptedOutputModes !== undefined) out.acceptedOutputModes = acceptedOutputModes;
  if (pushNotificationConfig !== undefined) {
    out.taskPushNotificationConfig = encodePush(pushNotificationConfig);
  }
  if (historyLength !== undefined) out.historyLength = historyLength;
  if (blocking !== undefined) out.returnImmediately = !blocking;
  return out;
}

function encodeSend(params: MessageSendParams): Raw {
  const out: Raw = { message: encodeMessage(params.message) };
  if (params.configuration !== undefined) {
    out.configuration = encodeConfiguration(params.configuration);
  }
  return alongside(out, params);
}

function encodeList(params: ListTasksParams): Raw {
  const out: Raw = { ...params };
  if (params.status !== undefined) out.status = STATE_NAMES[params.status];
  return out;
}

/** Adds the fields that almost every request may have. */
function alongside(out: Raw, { metadata, tenant }: { metadata?: unknown; tenant?: unknown }): Raw {
  if (metadata !== undefined) out.metadata = metadata;
  if (tenant !== undefined) out.tenant = tenant;
  return out;
}

export const encodeParams: { readonly [O in Operation]: (params: ParamsOf<O>) => unknown } = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ id, historyLength, tenant }) =>
    alongside(historyLength === undefined ? { id } : { id, historyLength }, { tenant }),
  listTasks: encodeList,
  cancelTask: (params) => alongside({ id: params.id }, params),
  // `after` is an addition of Parley. A client sets it only if the peer supports it.
  subscribe: ({ id, after, tenant }) =>
    alongside(after === undefined ? { id } : { id, after }, { tenant }),
  setPushConfig: encodeTaskPush,
  getPushConfig: ({ id: taskId, pushNotificationConfigId: id, tenant }) =>
    alongside(id === undefined ? { taskId } : { taskId, id }, { tenant }),
  listPushConfigs: ({ id, tenant }) => alongside({ taskId: id }, { tenant }),
  deletePushConfig: ({ id: taskId, pushNotificationConfigId: id, tenant }) =>
    alongside({ taskId, id }, { tenant }),
  getExtendedCard: ({ tenant }) => alongside({}, { tenant }),
};

export const encodeResult: {
  readonly [O in UnaryOperation]: (result: ResultOf<O>) => unknown;
} = {
  sendMessage: encodeEvent,
  getTask: encodeTask,
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize }) => {
    const out: Raw[] = [];
    for (const task of tasks) out.push(encodeTask(task));
    return { tasks: out, nextPageToken, pageSize, totalSize };
  },
  cancelTask: encodeTask,
  setPushConfig: encodeTaskPush,
  getPushConfig: encodeTaskPush,
  listPushConfigs: (configs) => ({ configs: configs.map(encodeTaskPush), nextPageToken: '' }),
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCardV1,
};
