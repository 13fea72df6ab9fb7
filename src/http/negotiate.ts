/** Version and extensions of a request. Nothing behind this knows that there are several. */
import { A2AError, type ProtocolVersion, versionOf } from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import type { TransportRequest } from './request.ts';

/** What the request says of its version: header first, then query parameter. Empty: nothing. */
function versionText(request: TransportRequest, query: URLSearchParams | undefined): string {
  // Empty says nothing, so the one does not hide the other.
  return request.header('a2a-version') || query?.get('A2A-Version') || '';
}

/** The version that the request asks for, if it is spoken. Undefined: it is not, or the request does not say. */
export function spokenVersion(
  request: TransportRequest,
  query: URLSearchParams | undefined,
  spoken: readonly ProtocolVersion[],
): ProtocolVersion | undefined {
  const version = versionOf(versionText(request, query));
  return version && spoken.includes(version) ? version : undefined;
}

/** The version that the request asks for. Undefined: it does not say. Throws for one that is not spoken. */
export function requestedVersion(
  request: TransportRequest,
  query: URLSearchParams | undefined,
  spoken: readonly ProtocolVersion[],
): ProtocolVersion | undefined {
  const text = versionText(request, query);
  if (text === '') return undefined;
  const version = versionOf(text);
  if (version && spoken.includes(version)) return version;
  throw new A2AError('versionNotSupported', `A2A ${printable(text)} is not spoken here`, {
    info: { supported: spoken.join(', ') },
  });
}

const NONE: readonly string[] = [];

/**
 * The extensions that the request names and the agent has; `implied` ones count as named. Throws when one that is
 * required is missing, or one is named in a version that the agent does not speak.
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
