/**
 * The extension's name and version, and the place in `metadata` that belongs to it.
 *
 * The URI holds a semantic version: `v0` stands for every 0.x, and the same major number is compatible.
 */
import { isObject } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import type { Metadata } from '../message.ts';
import { AgentSettings, DevelopmentToolEvent } from './event.ts';

const BASE = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/';

/** Keys what is ours in `metadata`, and stands in the card. */
export const EXTENSION_URI = `${BASE}v0/spec.md`;

/** The parts of a version, as far as the URI names them: `v0` is 0.x, `v1.2` is 1.2.x. */
export interface ExtensionVersion {
  readonly major: number;
  readonly minor?: number;
  readonly patch?: number;
  /** Of `v1.0.0-beta.1`: `beta.1`. */
  readonly prerelease?: string;
}

const NUMBER = '(0|[1-9]\\d{0,8})';
const VERSION = new RegExp(
  `^v${NUMBER}(?:\\.${NUMBER}(?:\\.${NUMBER}(?:-([0-9A-Za-z.-]{1,64}))?(?:\\+[0-9A-Za-z.-]{1,64})?)?)?/spec\\.md$`,
);

/** The version in a URI of this extension; undefined for any other URI. */
export function extensionVersion(uri: string): ExtensionVersion | undefined {
  if (!uri.startsWith(BASE)) return undefined;
  const match = VERSION.exec(uri.slice(BASE.length));
  if (!match) return undefined;
  const [, major, minor, patch, prerelease] = match;
  return {
    major: Number(major),
    ...(minor !== undefined && { minor: Number(minor) }),
    ...(patch !== undefined && { patch: Number(patch) }),
    ...(prerelease !== undefined && { prerelease }),
  };
}

/** Whether the URI names this extension in a version that is spoken here. */
export function isCompatible(uri: string): boolean {
  return extensionVersion(uri)?.major === 0;
}

/** Refuses the extension in a version that is not spoken here. URIs of other extensions pass. */
export function refuseIncompatible(uris: Iterable<string>): void {
  for (const uri of uris) {
    const version = extensionVersion(uri);
    if (version === undefined || isCompatible(uri)) continue;
    throw new A2AError(
      'extensionRequired',
      `Version ${version.major} of the development-tool extension is not served here, but 0.x is: ${EXTENSION_URI}`,
      { info: { requested: uri, served: EXTENSION_URI } },
    );
  }
}

/** What `metadata` holds for this extension. Throws when it is there only in an incompatible version. */
function extensionValue(metadata: Metadata | undefined): unknown {
  if (metadata === undefined) return undefined;
  if (metadata[EXTENSION_URI] !== undefined) return metadata[EXTENSION_URI];
  const uris = Object.keys(metadata);
  const compatible = uris.find(isCompatible);
  if (compatible !== undefined) return metadata[compatible];
  refuseIncompatible(uris);
  return undefined;
}

const SETTINGS = Object.keys(AgentSettings.shape);

/** The client's settings in a message's metadata. */
export function settingsIn(metadata: Metadata | undefined): AgentSettings | undefined {
  const value = extensionValue(metadata);
  if (value === undefined) return undefined;
  // A client may also mark its messages as an agent does its events, or say its own name there; that settles nothing.
  if (isObject(value) && ('kind' in value || !SETTINGS.some((key) => key in value))) {
    return undefined;
  }
  return parseWith(AgentSettings, value, 'AgentSettings');
}

/** What a status update is about. */
export function eventIn(metadata: Metadata | undefined): DevelopmentToolEvent | undefined {
  const value = extensionValue(metadata);
  return value === undefined
    ? undefined
    : parseWith(DevelopmentToolEvent, value, 'DevelopmentToolEvent');
}

/** Metadata with this extension's object in it. */
export function extensionMetadata(value: DevelopmentToolEvent | AgentSettings): Metadata {
  return { [EXTENSION_URI]: value };
}
