/**
 * The codec of version 0.3. Its JSON is nearly the same as the internal format, so the encoder usually returns its
 * argument unchanged. In this case, the server can send the JSON text that it has stored.
 *
 * The decoder reads the JSON of the specification and the ProtoJSON of some REST peers.
 */
import { isObject } from '../../base/index.ts';
import type { Artifact, DataPart, Message, Part } from '../message.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type { MessageSendParams } from '../params.ts';
import type { StreamEvent, Task, TaskStatus } from '../task.ts';
import { decodeCard, encodeCardV03 } from './card.ts';
import type { WireCodec } from './codec.ts';
import { ROLES_V03, STATES_V03 } from './enums.ts';
import { decodeError, errorData } from './error.ts';
import {
  base64At,
  listParams,
  objectAt,
  paramsObject,
  queryParams,
  refuse,
  validated,
  type Raw,
} from './read.ts';
import { createReader, readMember, type Dialect } from './reader.ts';
import { createAnswerDecoder } from './received.ts';
import {
  isProtoMessage,
  readProtoConfiguration,
  readProtoPart,
  readProtoPush,
  taskIdOfName,
} from './v03-proto.ts';

/**
 * The metadata key that marks a wrapped data part. In 0.3, a data part must contain an object. Any other value is
 * sent as `{value}` with this mark.
 */
export const WRAPPED = 'parley:wrapped';

// Encoding. Each function returns its argument if nothing has to change.

function wrapped(part: DataPart): DataPart {
  return {
    ...part,
    data: { value: part.data },
    metadata: { ...part.metadata, [WRAPPED]: true },
  };
}

/** Applies `encode` to each item. Copies the list only if an item changes. */
function each<T>(list: T[], encode: (item: T) => T): T[] {
  let copy: T[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    if (item === undefined) continue;
    const encoded = encode(item);
    if (encoded !== item) (copy ??= list.slice())[index] = encoded;
  }
  return copy ?? list;
}

export function encodePart(part: Part): Part {
  return part.kind === 'data' && !isObject(part.data) ? wrapped(part) : part;
}

function encodeMessage(message: Message): Message {
  const parts = each(message.parts, encodePart);
  return parts === message.parts ? message : { ...message, parts };
}

function encodeArtifact(artifact: Artifact): Artifact {
  const parts = each(artifact.parts, encodePart);
  return parts === artifact.parts ? artifact : { ...artifact, parts };
}

function encodeStatus(status: TaskStatus): TaskStatus {
  const message = status.message && encodeMessage(status.message);
  if (message === status.message && status.state !== 'unspecified') return status;
  const out: TaskStatus = { ...status };
  if (message) out.message = message;
  if (status.state === 'unspecified') out.state = 'unknown';
  return out;
}

function encodeTask(task: Task): Task {
  const status = encodeStatus(task.status);
  const history = task.history && each(task.history, encodeMessage);
  const artifacts = task.artifacts && each(task.artifacts, encodeArtifact);
  if (status === task.status && history === task.history && artifacts === task.artifacts) {
    return task;
  }
  const out: Task = { ...task, status };
  if (history) out.history = history;
  if (artifacts) out.artifacts = artifacts;
  return out;
}

function encodeEvent(event: StreamEvent): StreamEvent {
  switch (event.kind) {
    case 'artifact-update': {
      const artifact = encodeArtifact(event.artifact);
      return artifact === event.artifact ? event : { ...event, artifact };
    }
    case 'status-update': {
      const status = encodeStatus(event.status);
      return status === event.status ? event : { ...event, status };
    }
    case 'task':
      return encodeTask(event);
    default:
      return encodeMessage(event);
  }
}

function encodeSend(params: MessageSendParams): MessageSendParams {
  const message = encodeMessage(params.message);
  return message === params.message ? params : { ...params, message };
}

const same = (value: unknown): unknown => value;

/** The parameters of operations without an entry are the same as in the internal format. */
const encodeParams: { readonly [O in Operation]?: (params: ParamsOf<O>) => unknown } = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
};

/** The results of operations without an entry are the same as in the internal format. */
const encodeResult: { readonly [O in UnaryOperation]?: (result: ResultOf<O>) => unknown } = {
  sendMessage: encodeEvent,
  getTask: encodeTask,
  listTasks: (result) => {
    const tasks = each(result.tasks, encodeTask);
    return tasks === result.tasks ? result : { ...result, tasks };
  },
  cancelTask: encodeTask,
  getExtendedCard: encodeCardV03,
};

// Decoding. Each function returns the internal format.

function isWrapped(part: Raw): boolean {
  return (
    part.kind === 'data' &&
    isObject(part.metadata) &&
    part.metadata[WRAPPED] === true &&
    isObject(part.data) &&
    'value' in part.data
  );
}

function unwrapped(part: Raw): Raw {
  const { metadata, data, ...out } = part;
  if (!isObject(metadata) || !isObject(data)) return part;
  const { [WRAPPED]: _, ...others } = metadata;
  out.data = data.value;
  if (Object.keys(others).length > 0) out.metadata = others;
  return out;
}

/** Reads a part. A part without `kind` is in ProtoJSON. */
function readPart(raw: unknown, list: string, index: number): Raw {
  if (!isObject(raw)) refuse(`${list}[${index}]`, 'must be an object');
  const part =
    raw.kind == null ? readProtoPart(raw, `${list}[${index}]`) : withBase64(raw, list, index);
  return isWrapped(part) ? unwrapped(part) : part;
}

/**
 * Converts the bytes of a file to standard base64. Throws if they are not base64, because clients of other versions
 * could not read the task.
 */
function withBase64(part: Raw, list: string, index: number): Raw {
  const { file } = part;
  if (!isObject(file) || typeof file.bytes !== 'string') return part;
  const bytes = base64At(file.bytes, `${list}[${index}].file.bytes`);
  return bytes === file.bytes ? part : { ...part, file: { ...file, bytes } };
}

const dialect: Dialect = {
  states: STATES_V03,
  roles: ROLES_V03,
  noState: 'unknown',
  old: true,
  isBlank: ({ kind, text, file, data }) =>
    kind == null && text == null && file == null && data == null,
  part: readPart,
};
const strict = createReader(dialect, false);
const lenient = createReader(dialect, true);

function readSend(raw: Raw): Raw {
  const message = raw.message;
  if (!isObject(message)) return raw;
  if (isProtoMessage(message)) return readProtoSend(raw);
  const parts = readParts(message.parts);
  // The field `kind` is redundant here, and some peers omit it.
  if (parts === message.parts && message.kind !== undefined) return raw;
  return { ...raw, message: { kind: 'message', ...message, parts } };
}

/** Reads the parts of a message that is not ProtoJSON. Most parts stay as they are. */
function readParts(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts;
  let copy: unknown[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part: unknown = parts[index];
    if (!isObject(part)) continue;
    const read = isWrapped(part) ? unwrapped(part) : withBase64(part, 'message.parts', index);
    if (read !== part) (copy ??= parts.slice())[index] = read;
  }
  return copy ?? parts;
}

function readProtoSend(raw: Raw): Raw {
  const { configuration, metadata, ...rest } = raw;
  const out: Raw = { ...rest, message: strict.message(raw.message, 'message') };
  if (configuration != null) {
    out.configuration = readProtoConfiguration(objectAt(configuration, 'configuration'));
  }
  if (metadata != null) out.metadata = metadata;
  return out;
}

/**
 * Reads `{taskId, pushNotificationConfig}`. In REST, `pushNotificationConfig` may also be inside the field `config` of
 * the body. In this case, the task's id may be in the path, in `config`, or in a resource name (`name` or `parent`).
 */
function readTaskPush(raw: Raw): Raw {
  if (typeof raw.taskId === 'string' && isObject(raw.pushNotificationConfig)) return raw;
  const config = isObject(raw.config) ? raw.config : raw;
  const { pushNotificationConfig: inside } = config;
  const out: Raw = {
    taskId:
      raw.taskId ??
      raw.id ??
      config.taskId ??
      taskIdOfName(config.name) ??
      taskIdOfName(raw.parent),
    pushNotificationConfig: isObject(inside) ? readProtoPush(inside) : inside,
  };
  if (raw.tenant != null) out.tenant = raw.tenant;
  return out;
}

/** Reads the parameters of some operations. `queryParams` reads the parameters of all other operations. */
const readParams: { readonly [O in Operation]?: (raw: Raw) => Raw } = {
  sendMessage: readSend,
  streamMessage: readSend,
  listTasks: (raw) => listParams(raw, STATES_V03),
  setPushConfig: readTaskPush,
};

/**
 * Reads an event. In JSON-RPC, the event has a `kind`. In REST, the event is in a member with the name of its kind.
 */
function readEvent(value: unknown): Raw {
  const raw = objectAt(value, 'result');
  switch (raw.kind) {
    case 'artifact-update':
      return lenient.artifactUpdate(raw, 'result');
    case 'status-update':
      return lenient.statusUpdate(raw, 'result');
    case 'task':
      return lenient.task(raw, 'result');
    case 'message':
      return lenient.message(raw, 'result');
    default:
      return (
        readMember(lenient, raw) ??
        refuse('result.kind', 'must be task, message, status-update or artifact-update')
      );
  }
}

const answers = createAnswerDecoder({
  task: lenient.task,
  event: readEvent,
  pushConfig: readTaskPush,
});

/**
 * The codec of A2A 0.3, for JSON-RPC.
 *
 *   const event = v03.decodeEvent(JSON.parse(body));
 */
export const v03: WireCodec = {
  version: '0.3',
  decodeParams: (operation, raw) =>
    validated(operation, (readParams[operation] ?? queryParams)(paramsObject(operation, raw))),
  encodeParams: (operation, params) => (encodeParams[operation] ?? same)(params),
  encodeResult: (operation, result) => (encodeResult[operation] ?? same)(result),
  decodeResult: (operation, raw) => answers.results[operation](raw),
  encodeEvent,
  decodeEvent: answers.event,
  encodeCard: encodeCardV03,
  decodeCard,
  encodeError: (error) => {
    const data = errorData(error);
    const { code, message } = error;
    return data === undefined ? { code, message } : { code, message, data };
  },
  decodeError,
};
