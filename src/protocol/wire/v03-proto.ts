/** Reads ProtoJSON of 0.3 (`a2a.v1`), which some REST peers send instead of the specification's JSON. */
import { isObject } from '../../base/index.ts';
import { base64At, dropEmpty, dropNull, intOf, objectAt, refuse, type Raw } from './read.ts';

/** Returns whether a message is in ProtoJSON: its role has a protobuf name, or its parts are in `content`. */
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
  // The compatibility kit sends an empty URI together with bytes, because in proto3 an empty string means absent.
  const fileWithUri = raw.fileWithUri === '' && fileWithBytes != null ? undefined : raw.fileWithUri;
  if ((fileWithUri != null) === (fileWithBytes != null)) {
    refuse(at, 'must have exactly one of fileWithUri and fileWithBytes');
  }
  const out: Raw =
    fileWithUri != null
      ? { uri: fileWithUri }
      : { bytes: onceEncoded(base64At(fileWithBytes, `${at}.fileWithBytes`), mimeType) };
  if (mimeType != null && mimeType !== '') out.mimeType = mimeType;
  if (name != null && name !== '') out.name = name;
  return out;
}

/** The first base64 characters of PNG, JPEG, GIF, RIFF (WebP, WAV), PDF, ZIP, gzip, Ogg and MP3 files. */
const SIGNATURES = /^(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|JVBERi0|UEsDB|H4sI|T2dnU|SUQz)/;

/**
 * Returns the base64 of a file's content. Python's SDK of 0.3 encodes the content twice. This function removes the
 * second encoding if the decoded content is valid base64 of a known binary format and the file is not declared as text.
 * So it also changes a file that really contains such base64 and is not declared as text.
 */
function onceEncoded(bytes: string, mimeType: unknown): string {
  if (typeof mimeType === 'string' && mimeType.startsWith('text/')) return bytes;
  if (bytes.length < 16 || !SIGNATURES.test(atob(bytes.slice(0, 16)))) return bytes;
  const inner = atob(bytes);
  return inner.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(inner) ? inner : bytes;
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
    // A peer may send an empty protobuf message for an unset field.
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
  // proto3 omits false, so a missing field means false here. In JSON-RPC, a missing field means true.
  out.blocking ??= false;
  // In the protobuf definition of 0.3, zero means no limit.
  if (intOf(out.historyLength ?? 0) === 0) delete out.historyLength;
  else out.historyLength = intOf(out.historyLength);
  return out;
}

/**
 * Returns the task's id in a resource name such as `tasks/ID/pushNotificationConfigs/CID`, or undefined for any other
 * value.
 */
export function taskIdOfName(name: unknown): string | undefined {
  return typeof name === 'string' ? /^tasks\/([^/]+)/.exec(name)?.[1] : undefined;
}
