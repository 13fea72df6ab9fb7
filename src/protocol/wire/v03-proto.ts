/** ProtoJSON of 0.3 (`a2a.v1`), which some of its REST peers speak instead of the JSON that the specification shows. */
import { isObject } from '../json.ts';
import { base64At, dropEmpty, dropNull, objectAt, refuse, type Raw } from './read.ts';

/** Whether a message is ProtoJSON: its role has a protobuf name, or its parts are called `content`. */
export function isProtoMessage(message: Raw): boolean {
  const { role } = message;
  return Array.isArray(message.content) || (typeof role === 'string' && role.startsWith('ROLE_'));
}

/** Whoever writes ProtoJSON may use the names of the .proto file (`message_id`), and the compatibility kit does. */
export function protoNames(raw: Raw): Raw {
  return Object.fromEntries(Object.entries(raw).map(([name, value]) => [camelCase(name), value]));
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function readProtoPart(raw: Raw, at: string): Raw {
  const { text, file, data } = raw;
  if (Number(text != null) + Number(file != null) + Number(data != null) !== 1) {
    refuse(at, 'must have exactly one of text, file and data');
  }
  const out: Raw = {};
  if (raw.metadata != null) out.metadata = raw.metadata;
  if (text != null) {
    out.kind = 'text';
    out.text = text;
  } else if (file != null) {
    out.kind = 'file';
    out.file = readProtoFile(objectAt(file, `${at}.file`), `${at}.file`);
  } else {
    out.kind = 'data';
    out.data = objectAt(data, `${at}.data`).data ?? {};
  }
  return out;
}

function readProtoFile(raw: Raw, at: string): Raw {
  const { fileWithUri, fileWithBytes, mimeType, name } = protoNames(raw);
  if ((fileWithUri != null) === (fileWithBytes != null)) {
    refuse(at, 'must have exactly one of fileWithUri and fileWithBytes');
  }
  const out: Raw =
    fileWithUri != null
      ? { uri: fileWithUri }
      : { bytes: base64At(fileWithBytes, `${at}.fileWithBytes`) };
  if (mimeType != null && mimeType !== '') out.mimeType = mimeType;
  if (name != null && name !== '') out.name = name;
  return out;
}

export function readProtoPush(raw: Raw): Raw {
  const out = protoNames(raw);
  dropEmpty(out, 'id');
  dropEmpty(out, 'token');
  dropNull(out, 'authentication');
  if (isObject(out.authentication)) {
    const inside = { ...out.authentication };
    dropEmpty(inside, 'credentials');
    // An empty message is what protobuf makes of one that nobody filled in.
    if (!Array.isArray(inside.schemes) || inside.schemes.length > 0) out.authentication = inside;
    else delete out.authentication;
  }
  return out;
}

export function readProtoConfiguration(raw: Raw): Raw {
  const { pushNotification, ...out } = protoNames(raw);
  if (pushNotification != null) {
    const at = 'configuration.pushNotification';
    out.pushNotificationConfig = readProtoPush(objectAt(pushNotification, at));
  }
  dropNull(out, 'acceptedOutputModes');
  // proto3 does not write a false: absent here is not what it is in JSON-RPC.
  out.blocking ??= false;
  // 0.3's protobuf says that zero is no limit.
  if (out.historyLength === 0 || out.historyLength === null) delete out.historyLength;
  return out;
}

/** The task's id in a resource name such as `tasks/ID/pushNotificationConfigs/CID`. */
export function taskIdOfName(name: unknown): string | undefined {
  return typeof name === 'string' ? /^tasks\/([^/]+)/.exec(name)?.[1] : undefined;
}
