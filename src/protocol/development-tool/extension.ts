/**
 * The URI and the version of the development-tool extension, and functions that read and write its value in
 * `metadata`.
 *
 * The URI contains a semantic version. `v0` stands for all versions 0.x. Versions with the same major number are
 * compatible.
 */
import { isObject } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import type { Metadata } from '../message.ts';
import { coderAgentKind, coderAgentSettings } from './coder-agent.ts';
import { AgentSettings, DevelopmentToolEvent } from './event.ts';
import { plainName } from './message.ts';

const BASE = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/';

/** The extension's URI in the agent card, and its key in `metadata`. */
export const EXTENSION_URI = `${BASE}v0/spec.md`;

const NUMBER = '(0|[1-9]\\d{0,8})';
const VERSION = new RegExp(
  `^v${NUMBER}(?:\\.${NUMBER}(?:\\.${NUMBER}(?:-[0-9A-Za-z.-]{1,64})?(?:\\+[0-9A-Za-z.-]{1,64})?)?)?/spec\\.md$`,
);

/** Returns the major version in a URI of this extension (0 for `v0` and `v0.2.1`), or undefined for any other URI. */
export function majorVersion(uri: string): number | undefined {
  if (!uri.startsWith(BASE)) return undefined;
  const major = VERSION.exec(uri.slice(BASE.length))?.[1];
  return major === undefined ? undefined : Number(major);
}

/** Returns whether the URI names this extension in a supported version. */
export function isCompatible(uri: string): boolean {
  return majorVersion(uri) === 0;
}

/** Throws if a URI names an unsupported version of this extension. Ignores the URIs of other extensions. */
export function refuseIncompatible(uris: Iterable<string>): void {
  for (const uri of uris) {
    const version = majorVersion(uri);
    if (version === undefined || isCompatible(uri)) continue;
    throw new A2AError(
      'extensionRequired',
      `Version ${version} of the development-tool extension is not supported; use 0.x: ${EXTENSION_URI}`,
      { info: { requested: uri, served: EXTENSION_URI } },
    );
  }
}

/**
 * Returns the value for this extension in `metadata`, or undefined if there is none. Throws if there is only a value
 * for an unsupported version.
 */
function extensionValue(metadata: Metadata | undefined): unknown {
  if (metadata === undefined) return undefined;
  if (metadata[EXTENSION_URI] !== undefined) return metadata[EXTENSION_URI];
  const uris = Object.keys(metadata);
  const compatible = uris.find(isCompatible);
  if (compatible !== undefined) return metadata[compatible];
  refuseIncompatible(uris);
  return undefined;
}

const SETTINGS: ReadonlyMap<string, string> = new Map(
  Object.keys(AgentSettings.shape).map((field) => [plainName(field), field]),
);

/** Returns the names of the fields that are settings or misspelled settings. */
function settingsFields(value: object): string[] {
  return Object.keys(value).filter((field) => SETTINGS.has(plainName(field)));
}

/**
 * Returns the client's settings in a message's metadata, in the format of the extension or of gemini-cli. Returns
 * undefined if there are none. Throws if the settings are invalid or if the name of a setting is misspelled
 * (`workspacePath`). Also throws if the settings are directly in the metadata, and not under the extension's URI.
 */
export function settingsIn(metadata: Metadata | undefined): AgentSettings | undefined {
  return extensionSettings(metadata) ?? coderAgentSettings(metadata);
}

function extensionSettings(metadata: Metadata | undefined): AgentSettings | undefined {
  const [misplaced] = settingsFields(metadata ?? {});
  if (misplaced !== undefined) {
    throw new A2AError(
      'invalidParams',
      `metadata.${misplaced}: settings must be in message.metadata["${EXTENSION_URI}"]`,
    );
  }
  const value = extensionValue(metadata);
  if (value === undefined) return undefined;
  if (isObject(value)) {
    const fields = settingsFields(value);
    // The value may also contain the fields of an event or the client's name. These are not settings.
    if (fields.length === 0) return undefined;
    for (const field of fields) {
      const name = SETTINGS.get(plainName(field));
      if (field === name) continue;
      throw new A2AError('invalidParams', `AgentSettings: unknown field ${field}; use ${name}`);
    }
  }
  return parseWith(AgentSettings, value, 'AgentSettings');
}

/**
 * Throws if the metadata of a request contains settings of the extension, because they are valid only in the metadata
 * of the message. Clients of gemini-cli's server also send gemini-cli's settings in the request. gemini-cli's server
 * ignores these settings, and so does this function.
 */
export function refuseRequestSettings(metadata: Metadata | undefined): void {
  if (extensionSettings(metadata) === undefined) return;
  throw new A2AError(
    'invalidParams',
    `params.metadata: settings must be in message.metadata["${EXTENSION_URI}"]`,
  );
}

/** Returns the event in a status update's metadata, or undefined if there is none. Throws if the event is invalid. */
export function eventIn(metadata: Metadata | undefined): DevelopmentToolEvent | undefined {
  const value = extensionValue(metadata);
  return value === undefined
    ? undefined
    : parseWith(DevelopmentToolEvent, value, 'DevelopmentToolEvent');
}

/**
 * Returns the `kind` in a status update's metadata, or undefined if there is none. The metadata may be in the format of
 * the extension or of gemini-cli. The other fields are not checked. A value of the extension is used only if its key is
 * exactly EXTENSION_URI.
 */
export function updateKind(metadata: Metadata | undefined): string | undefined {
  const value = metadata?.[EXTENSION_URI];
  const kind: unknown = isObject(value) ? value['kind'] : undefined;
  return typeof kind === 'string' ? kind : coderAgentKind(metadata);
}

/** Makes metadata that contains a value of this extension. */
export function extensionMetadata(value: DevelopmentToolEvent | AgentSettings): Metadata {
  return { [EXTENSION_URI]: value };
}
