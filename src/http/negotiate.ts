/** Chooses the protocol version and the extensions of a request. */
import { A2AError, type ProtocolVersion, versionOf } from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import type { TransportRequest } from './request.ts';

/**
 * Returns the requested version from the header or, without this header, from the query parameter. Returns '' if
 * neither contains a version.
 */
function versionText(request: TransportRequest, query: URLSearchParams | undefined): string {
  return request.header('a2a-version') || query?.get('A2A-Version') || '';
}

/** Returns the requested version, or undefined if there is none or it is not supported. */
export function spokenVersion(
  request: TransportRequest,
  query: URLSearchParams | undefined,
  spoken: readonly ProtocolVersion[],
): ProtocolVersion | undefined {
  const version = versionOf(versionText(request, query));
  return version && spoken.includes(version) ? version : undefined;
}

/** Returns the requested version, or undefined if there is none. Throws if it is not supported. */
export function requestedVersion(
  request: TransportRequest,
  query: URLSearchParams | undefined,
  spoken: readonly ProtocolVersion[],
): ProtocolVersion | undefined {
  const text = versionText(request, query);
  if (text === '') return undefined;
  const version = versionOf(text);
  if (version && spoken.includes(version)) return version;
  throw new A2AError('versionNotSupported', `A2A ${printable(text)} is not supported`, {
    info: { supported: spoken.join(', ') },
  });
}

const NONE: readonly string[] = [];

/**
 * Returns the agent's extensions that the request activates, including those in `implied`. Throws if a required
 * extension is missing. Also throws if `extensionOf` throws, for example for an unsupported version of an extension. If
 * the agent has no extensions, the header is ignored.
 */
export function activeExtensions(
  request: TransportRequest,
  { extensions: declared, extensionOf }: Pick<AppContext, 'extensions' | 'extensionOf'>,
  implied: readonly string[] = NONE,
): readonly string[] {
  if (declared.length === 0) return NONE;
  const text = request.header('a2a-extensions') ?? request.header('x-a2a-extensions');
  const uris = (text ?? '').split(',').map((uri) => uri.trim());
  const named = new Set([...uris.map((uri) => extensionOf?.(uri) ?? uri), ...implied]);
  const missing = declared.find(({ uri, required }) => required && !named.has(uri));
  if (missing) {
    throw new A2AError('extensionRequired', `This agent requires the extension ${missing.uri}`, {
      info: { extension: missing.uri },
    });
  }
  return declared.filter(({ uri }) => named.has(uri)).map(({ uri }) => uri);
}

/** Returns the response header with the active extensions, or undefined if there are none. */
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
