/** ProtoJSON of 0.3 (`a2a.v1`), which some of its REST peers speak instead of the JSON that the specification shows. */
import { isObject } from '../../base/index.ts';
import { base64At, dropEmpty, dropNull, intOf, objectAt, refuse, type Raw } from './read.ts';

/** Whether a message is ProtoJSON: its role has a protobuf name, or its parts are called `content`. */
export function isProtoMessage(message: Raw): boolean {
  const { role } = message;
  return Array.isArray(message.content) || (typeof role === 'string' && role.startsWith('ROLE_'));
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
  const { fileWithBytes, mimeType, name } = raw;
  // The compatibility kit has an empty URI beside the bytes: proto3 has no other way to leave a string out.
  const fileWithUri = raw.fileWithUri === '' && fileWithBytes != null ? undefined : raw.fileWithUri;
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
  const out = { ...raw };
  dropEmpty(out, 'id');
  dropEmpty(out, 'token');
  dropNull(out, 'authentication');
  if (isObject(out.authentication)) {
    const inside = { ...out.authentication };
    dropEmpty(inside, 'credentials');
    const { schemes = [] } = inside;
    const blank =
      Array.isArray(schemes) && schemes.length === 0 && inside.credentials === undefined;
    // An empty message is what protobuf makes of one that nobody filled in.
    if (blank) delete out.authentication;
    else out.authentication = inside;
  }
  return out;
}

export function readProtoConfiguration(raw: Raw): Raw {
  const { pushNotification, ...out } = raw;
  if (pushNotification != null) {
    const at = 'configuration.pushNotification';
    out.pushNotificationConfig = readProtoPush(objectAt(pushNotification, at));
  }
  dropNull(out, 'acceptedOutputModes');
  // proto3 does not write a false: absent here is not what it is in JSON-RPC.
  out.blocking ??= false;
  // 0.3's protobuf says that zero is no limit.
  if (intOf(out.historyLength ?? 0) === 0) delete out.historyLength;
  else out.historyLength = intOf(out.historyLength);
  return out;
}

/** The task's id in a resource name such as `tasks/ID/pushNotificationConfigs/CID`. */
export function taskIdOfName(name: unknown): string | undefined {
  return typeof name === 'string' ? /^tasks\/([^/]+)/.exec(name)?.[1] : undefined;
}
