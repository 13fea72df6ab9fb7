/** Version and extensions of a request. Nothing behind this knows that there are several. */
import {
  A2AError,
  type AgentExtension,
  type ProtocolVersion,
  v03,
  v1,
  VERSIONS,
  versionOf,
  type WireCodec,
} from '../protocol/index.ts';
import type { TransportRequest } from './request.ts';

export const CODECS: Readonly<Record<ProtocolVersion, WireCodec>> = { '0.3': v03, '1.0': v1 };

/** The version that the request asks for: header first, then query parameter. Undefined: it does not say. */
export function requestedVersion(
  request: TransportRequest,
  query: URLSearchParams | undefined,
  spoken: readonly ProtocolVersion[] = VERSIONS,
): ProtocolVersion | undefined {
  // Empty says nothing, so the one does not hide the other.
  const text = request.header('a2a-version') || query?.get('A2A-Version') || '';
  if (text === '') return undefined;
  const version = versionOf(text);
  if (version && spoken.includes(version)) return version;
  throw new A2AError('versionNotSupported', `A2A ${printable(text)} is not spoken here`, {
    info: { supported: spoken.join(', ') },
  });
}

const NONE: readonly string[] = [];

/** The extensions that the request names and the agent has. Throws when one that is required is missing. */
export function activeExtensions(
  request: TransportRequest,
  declared: readonly AgentExtension[],
): readonly string[] {
  if (declared.length === 0) return NONE;
  const text = request.header('a2a-extensions') ?? request.header('x-a2a-extensions');
  const named = new Set((text ?? '').split(',').map((uri) => uri.trim()));
  const missing = declared.find(({ uri, required }) => required && !named.has(uri));
  if (missing) {
    throw new A2AError('extensionRequired', `This agent requires the extension ${missing.uri}`, {
      info: { extension: missing.uri },
    });
  }
  return declared.filter(({ uri }) => named.has(uri)).map(({ uri }) => uri);
}

/** The header by which a response names the extensions that are active. */
export function extensionHeader(
  version: ProtocolVersion,
  active: readonly string[],
): Record<string, string> | undefined {
  if (active.length === 0) return undefined;
  return { [version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']: active.join(', ') };
}

function printable(text: string): string {
  return text.slice(0, 32).replaceAll(/[^\w.-]/g, '?');
}
