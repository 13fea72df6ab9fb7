/**
 * The codec of the REST and gRPC bindings of 0.3. It writes ProtoJSON of `a2a.v1`, not the JSON of the JSON-RPC
 * binding.
 *
 * The specification puts a result into a member that is named after its kind (sections 7.1 and 7.9). For everything
 * else, it requires "structurally equivalent" JSON (section 3.2.3). But both public SDKs of 0.3 and the compatibility
 * kit read only the protobuf mapping, which has other names and enumerations. So this codec writes the protobuf
 * mapping. It reads both formats, with the help of v03.ts.
 */
import type { Part } from '../message.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type {
  MessageSendParams,
  SetPushConfigParams,
  TaskPushNotificationConfig,
} from '../params.ts';
import { encodeCardV03Rest } from './card.ts';
import type { WireCodec } from './codec.ts';
import { STATE_NAMES } from './enums.ts';
import { NAMES_V03, withJsonNames } from './proto-names.ts';
import type { Raw } from './read.ts';
import { encodePart as encodeJsonPart, v03 } from './v03.ts';
import { createProtoWriter } from './proto-writer.ts';

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

// Only the protobuf definition of 0.3 spells this name with a double L.
const states = { ...STATE_NAMES, canceled: 'TASK_STATE_CANCELLED' };
const write = createProtoWriter({ states, old: true, part: encodePart });

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
  const out: Raw = { ...rest, message: write.message(message) };
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
  sendMessage: write.event,
  getTask: write.task,
  listTasks: (page) => ({ ...page, tasks: page.tasks.map(write.task) }),
  cancelTask: write.task,
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
  encodeEvent: write.event,
  decodeEvent: (raw) => v03.decodeEvent(named(raw)),
};
