/**
 * The encoder of version 1.0. It writes only fields of the protocol, because strict ProtoJSON parsers reject other
 * fields. There are two exceptions. Cards and the parameters for listing tasks keep their unknown fields. The
 * parameters for following a task may have `after`.
 */
import type { Part } from '../message.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type {
  ListTasksParams,
  MessageSendConfiguration,
  MessageSendParams,
  PushNotificationConfig,
  TaskPushNotificationConfig,
} from '../params.ts';
import { encodeCardV1 } from './card.ts';
import { STATE_NAMES } from './enums.ts';
import type { Raw } from './read.ts';
import { createProtoWriter } from './proto-writer.ts';

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

const write = createProtoWriter({ states: STATE_NAMES, old: false, part: encodePart });
export const encodeEvent = write.event;

/** Encodes a webhook. In 1.0, a webhook has only one authentication scheme, so only the first scheme is written. */
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
  const out: Raw = { message: write.message(params.message) };
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

/** Adds `metadata` and `tenant` if they are present. */
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
  getTask: write.task,
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize }) => {
    return { tasks: tasks.map(write.task), nextPageToken, pageSize, totalSize };
  },
  cancelTask: write.task,
  setPushConfig: encodeTaskPush,
  getPushConfig: encodeTaskPush,
  listPushConfigs: (configs) => ({ configs: configs.map(encodeTaskPush), nextPageToken: '' }),
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCardV1,
};
