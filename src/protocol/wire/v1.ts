/**
 * The codec of version 1.0, which uses ProtoJSON of `lf.a2a.v1`.
 *
 * In this format, the name of a member identifies the kind of an object. Parts are flat, and enumerations have their
 * protobuf names. Null means absent, and so does an empty string in most fields. Unknown fields of messages, artifacts,
 * tasks and events are kept.
 */
import { isObject } from '../../base/index.ts';
import type { Operation } from '../methods.ts';
import { decodeCard, encodeCardV1 } from './card.ts';
import type { WireCodec } from './codec.ts';
import { ROLES_V1, STATES_V1 } from './enums.ts';
import { decodeError, errorDetails } from './error.ts';
import { NAMES_V1, withJsonNames } from './proto-names.ts';
import {
  base64At,
  boolOf,
  intOf,
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
import { eventText } from './v1-text.ts';
import { encodeEvent, encodeParams, encodeResult } from './v1-write.ts';

function readPart(value: unknown, list: string, index: number): Raw {
  if (!isObject(value)) refuse(`${list}[${index}]`, 'must be an object');
  const { text, raw, url, data } = value;
  if (typeof text === 'string' && raw === undefined && url === undefined && data === undefined) {
    // Most parts have only a text. For these parts, this object literal is faster than a copy, and needs less memory.
    if (Object.keys(value).length === 1) return { kind: 'text', text };
    return tidied({ ...value, kind: 'text' });
  }
  const contents = Number(text != null) + Number(raw != null) + Number(url != null);
  // If the part has no other content, `data: null` is the JSON value null. In any other part, it means absent.
  const hasData = data !== undefined && (data !== null || contents === 0);
  if (contents + Number(hasData) !== 1) {
    refuse(`${list}[${index}]`, 'must have exactly one of text, raw, url and data');
  }
  if (text != null && typeof text !== 'string') {
    refuse(`${list}[${index}].text`, 'must be a string');
  }
  const out: Raw = {};
  const { filename, mediaType, metadata } = value;
  if (metadata != null) out.metadata = metadata;
  if (raw != null || url != null) {
    const file: Raw =
      raw == null ? { uri: url } : { bytes: base64At(raw, `${list}[${index}].raw`) };
    if (mediaType != null && mediaType !== '') file.mimeType = mediaType;
    if (filename != null && filename !== '') file.name = filename;
    out.kind = 'file';
    out.file = file;
    return out;
  }
  if (mediaType != null && mediaType !== '') out.mediaType = mediaType;
  if (filename != null && filename !== '') out.filename = filename;
  if (text != null) {
    out.kind = 'text';
    out.text = text;
  } else {
    out.kind = 'data';
    out.data = data;
  }
  return out;
}

function tidied(part: Raw): Raw {
  if (part.metadata === null) delete part.metadata;
  if (part.filename === null || part.filename === '') delete part.filename;
  if (part.mediaType === null || part.mediaType === '') delete part.mediaType;
  return part;
}

const dialect: Dialect = {
  states: STATES_V1,
  roles: ROLES_V1,
  noState: 'unspecified',
  old: false,
  isBlank: ({ text, raw, url, data }) =>
    text == null && raw == null && url == null && data === undefined,
  part: readPart,
};
const strict = createReader(dialect, false);
const lenient = createReader(dialect, true);

function readPush(raw: Raw, at: string): Raw {
  const out: Raw = { url: raw.url };
  if (raw.id != null && raw.id !== '') out.id = raw.id;
  if (raw.token != null && raw.token !== '') out.token = raw.token;
  if (raw.authentication != null) {
    const { scheme, credentials } = objectAt(raw.authentication, `${at}authentication`);
    const inside: Raw = { schemes: [scheme] };
    if (credentials != null && credentials !== '') inside.credentials = credentials;
    // Some peers send an empty object for an unset field.
    if (inside.credentials !== undefined || (scheme != null && scheme !== '')) {
      out.authentication = inside;
    }
  }
  return out;
}

function readTaskPush(raw: Raw): Raw {
  const out: Raw = { taskId: raw.taskId, pushNotificationConfig: readPush(raw, '') };
  if (raw.tenant != null && raw.tenant !== '') out.tenant = raw.tenant;
  return out;
}

function readConfiguration(value: unknown): Raw {
  const raw = objectAt(value, 'configuration');
  const out: Raw = {};
  if (raw.acceptedOutputModes != null) out.acceptedOutputModes = raw.acceptedOutputModes;
  if (raw.historyLength != null) out.historyLength = intOf(raw.historyLength);
  if (raw.returnImmediately != null) {
    const immediately = boolOf(raw.returnImmediately);
    if (typeof immediately !== 'boolean') {
      refuse('configuration.returnImmediately', 'must be a boolean');
    }
    out.blocking = !immediately;
  }
  if (raw.taskPushNotificationConfig != null) {
    const at = 'configuration.taskPushNotificationConfig';
    out.pushNotificationConfig = readPush(objectAt(raw.taskPushNotificationConfig, at), `${at}.`);
  }
  return out;
}

function readSend(raw: Raw): Raw {
  const out: Raw = { ...raw, message: strict.message(raw.message, 'message') };
  if (raw.configuration != null) out.configuration = readConfiguration(raw.configuration);
  else if (raw.configuration === null) delete out.configuration;
  if (raw.metadata === null) delete out.metadata;
  if (raw.tenant === null || raw.tenant === '') delete out.tenant;
  return out;
}

function readList(raw: Raw): Raw {
  const out = listParams(raw, STATES_V1);
  // The zero value means "not set".
  if (out.status === 'unspecified') delete out.status;
  return out;
}

/** Reads `{taskId, id}`. Without `taskId`, the parameters are read under their internal names. */
function readPushIds(raw: Raw): Raw {
  const { taskId, ...rest } = queryParams(raw);
  if (taskId == null) return rest;
  const out: Raw = { ...rest, id: taskId };
  if (rest.id != null && rest.id !== '') out.pushNotificationConfigId = rest.id;
  return out;
}

/** Reads the parameters of some operations. `queryParams` reads the parameters of all other operations. */
const readParams: { readonly [O in Operation]?: (raw: Raw) => Raw } = {
  sendMessage: readSend,
  streamMessage: readSend,
  listTasks: readList,
  setPushConfig: readTaskPush,
  getPushConfig: readPushIds,
  listPushConfigs: (raw) => {
    const { taskId, ...rest } = queryParams(raw);
    return taskId == null ? rest : { ...rest, id: taskId };
  },
  deletePushConfig: readPushIds,
};

/** Returns the 1.0 name of a field, for a schema error. */
function rename(operation: Operation, field: string): string {
  switch (operation) {
    case 'sendMessage':
    case 'streamMessage':
      return field
        .replace(/\.file\.bytes$/, '.raw')
        .replace(/\.file\.uri$/, '.url')
        .replace(/\.file\.mimeType$/, '.mediaType')
        .replace(/\.file\.name$/, '.filename')
        .replace('.pushNotificationConfig', '.taskPushNotificationConfig')
        .replace('.authentication.schemes[0]', '.authentication.scheme');
    case 'setPushConfig':
      return field
        .replace(/^pushNotificationConfig\./, '')
        .replace('authentication.schemes[0]', 'authentication.scheme');
    case 'getPushConfig':
    case 'deletePushConfig':
    case 'listPushConfigs':
      if (field === 'id') return 'taskId';
      return field === 'pushNotificationConfigId' ? 'id' : field;
    default:
      return field;
  }
}

function readEvent(raw: unknown): Raw {
  const event = readMember(lenient, objectAt(raw, 'result'));
  if (!event) refuse('result', 'must have one of task, message, statusUpdate and artifactUpdate');
  return event;
}

const answers = createAnswerDecoder({
  task: lenient.task,
  event: readEvent,
  pushConfig: readTaskPush,
});
const named = (raw: unknown): unknown => withJsonNames(raw, NAMES_V1);

/**
 * The codec of A2A 1.0, for all bindings.
 *
 *   const json = JSON.stringify(v1.encodeEvent(event));
 */
export const v1: WireCodec = {
  version: '1.0',
  decodeParams(operation, raw) {
    const read = readParams[operation] ?? queryParams;
    const params = read(paramsObject(operation, named(raw)));
    return validated(operation, params, (field) => rename(operation, field));
  },
  encodeParams: (operation, params) => encodeParams[operation](params),
  encodeResult: (operation, result) => encodeResult[operation](result),
  decodeResult: (operation, raw) => answers.results[operation](named(raw)),
  encodeEvent,
  eventText,
  decodeEvent: (raw) => answers.event(named(raw)),
  encodeCard: encodeCardV1,
  decodeCard,
  encodeError: (error) => {
    const details = errorDetails(error, false);
    const { code, message } = error;
    return details.length > 0 ? { code, message, data: details } : { code, message };
  },
  decodeError,
};
