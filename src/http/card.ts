/** Makes the agent card from the agent's profile, and encodes it for one protocol version or for both. */
import { defined, isObject } from '../base/index.ts';
import type { SigningKeys } from '../base/signing/index.ts';
import {
  type AgentCard,
  type AgentCardSignature,
  type AgentInterface,
  codecOf,
  type ProtocolVersion,
  signedTexts,
  VERSIONS,
} from '../protocol/index.ts';
import { type AgentProfile } from '../tasks/index.ts';
import { bodyEtag } from './etag.ts';
import type { SocketRoute } from './socket-route.ts';

export interface CardCapabilities {
  readonly push: boolean;
  readonly extendedCard: boolean;
  readonly authenticated: boolean;
  readonly versions: readonly ProtocolVersion[];
  /** The WebSocket routes. The card declares those that have a binding. */
  readonly sockets?: readonly Pick<SocketRoute, 'path' | 'binding'>[] | undefined;
  /** Returns the address of gRPC for clients that use the address `base`. Undefined if gRPC is not served. */
  readonly grpcAt?: ((base: string) => GrpcPlace | undefined) | undefined;
}

/** The address of the gRPC interface. */
export interface GrpcPlace {
  /** A host and a port, without a scheme. Most clients of gRPC do not accept a URL. */
  readonly url: string;
  /** The address for clients of 0.3, if it differs from `url`. */
  readonly urlOf03?: string | undefined;
  readonly tenant?: string | undefined;
}

/**
 * Returns the address of gRPC on the host of `base`. The default port is the port of `base`. With `hasScheme`, the
 * address for clients of 0.3 has the scheme of `base`.
 */
export function grpcPlace(base: string, port?: number, hasScheme = false): GrpcPlace {
  const { hostname, protocol, port: own } = new URL(base);
  const url = `${hostname}:${port ?? (own || (protocol === 'https:' ? 443 : 80))}`;
  return { url, ...(hasScheme && { urlOf03: `${protocol}//${url}` }) };
}

/**
 * Makes the card of an agent at the address `base`. The card declares only capabilities that are available. Later
 * overrides take precedence over earlier ones. An override of `capabilities` changes only the capabilities that it
 * contains.
 */
export function makeCard(
  profile: AgentProfile,
  base: string,
  capabilities: CardCapabilities,
  ...overrides: readonly Partial<AgentCard>[]
): AgentCard {
  const { name, description, provider, documentationUrl, iconUrl } = profile;
  const newestFirst = VERSIONS.filter((version) =>
    capabilities.versions.includes(version),
  ).toReversed();
  const grpc = capabilities.grpcAt?.(base);
  const offered = {
    streaming: true,
    pushNotifications: capabilities.push,
    stateTransitionHistory: true,
    ...(capabilities.extendedCard && { extendedAgentCard: true }),
    ...(profile.extensions && { extensions: [...profile.extensions] }),
  };
  const card: AgentCard = {
    name,
    description,
    version: profile.version ?? '1.0.0',
    supportedInterfaces: [
      ...newestFirst.flatMap((version) => httpInterfaces(base, version, grpc)),
      ...socketInterfaces(base, capabilities.sockets),
    ],
    ...defined({ provider, documentationUrl, iconUrl }),
    ...(capabilities.authenticated && {
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    }),
    defaultInputModes: [...(profile.inputModes ?? ['text/plain'])],
    defaultOutputModes: [...(profile.outputModes ?? ['text/plain'])],
    skills: profile.skills
      ? [...profile.skills]
      : [{ id: 'chat', name, description, tags: ['chat'] }],
    capabilities: offered,
  };
  for (const override of overrides) {
    const { capabilities: changed, ...fields } = override;
    Object.assign(card, defined(fields));
    Object.assign(card.capabilities, defined(changed));
  }
  return card;
}

function httpInterfaces(
  url: string,
  protocolVersion: ProtocolVersion,
  grpc: GrpcPlace | undefined,
): AgentInterface[] {
  const interfaces: AgentInterface[] = [
    { url, protocolBinding: 'JSONRPC', protocolVersion },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion },
  ];
  // The gRPC service of 0.3 has no tenants.
  if (grpc && (grpc.tenant === undefined || protocolVersion !== '0.3')) {
    const { url: address, urlOf03 = address, ...place } = grpc;
    const own = protocolVersion === '0.3' ? urlOf03 : address;
    interfaces.push({ ...place, url: own, protocolBinding: 'GRPC', protocolVersion });
  }
  return interfaces;
}

/** Returns the interfaces of WebSocket routes. Their events have the format of 0.3. */
function socketInterfaces(
  base: string,
  sockets: CardCapabilities['sockets'] = [],
): AgentInterface[] {
  return sockets.flatMap(({ path, binding: protocolBinding }) =>
    protocolBinding === undefined
      ? []
      : [{ url: base.replace(/^http/, 'ws') + path, protocolBinding, protocolVersion: '0.3' }],
  );
}

export interface EncodedCard {
  readonly body: string;
  readonly etag: string;
}

/** Signs cards. */
export interface CardSigner {
  readonly keys: SigningKeys;
  /** The address of the key set, for verifiers. */
  readonly jku: string;
}

/**
 * Encodes the card as JSON. If `version` is undefined and the server supports both versions, the JSON combines their
 * formats, so that all clients can read it.
 */
export function encodeCard(
  card: AgentCard,
  version: ProtocolVersion | undefined,
  spoken: readonly ProtocolVersion[],
  signer?: CardSigner,
): EncodedCard {
  const encoded = (as: ProtocolVersion) => codecOf(as, 'JSONRPC').encodeCard(card);
  const asked = version ?? (spoken.length === 1 ? spoken[0] : undefined);
  const shown = asked === undefined ? merge(encoded('0.3'), encoded('1.0')) : encoded(asked);
  const own = signer && signaturesOf(shown, signer, asked);
  const signatures = [...(card.signatures ?? []), ...(own ?? [])];
  const body = JSON.stringify(own ? { ...Object(shown), signatures } : shown);
  return { body, etag: bodyEtag(body) };
}

/** Adds the signatures for one version to a card that is encoded later. */
export function signCard(
  card: AgentCard,
  signer: CardSigner,
  version: ProtocolVersion = '0.3',
): AgentCard {
  const own = signaturesOf(codecOf(version, 'JSONRPC').encodeCard(card), signer, version);
  return { ...card, signatures: [...(card.signatures ?? []), ...own] };
}

/** Makes a signature for each text that a verifier may compute from the card. */
function signaturesOf(
  card: unknown,
  { keys, jku }: CardSigner,
  version?: ProtocolVersion,
): AgentCardSignature[] {
  const header = { alg: 'EdDSA', typ: 'JOSE', kid: keys.kid, jku };
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url');
  return signedTexts(card, version).map(({ text }) => {
    const payload = Buffer.from(text).toString('base64url');
    const signature = keys.sign(`${protectedHeader}.${payload}`).toString('base64url');
    return { protected: protectedHeader, signature };
  });
}

/**
 * Merges the cards of two versions. Fields that differ between the versions have different names, so no data is lost.
 */
function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) {
    return other.map((item, at) => merge(one[at], item));
  }
  if (!isObject(one) || !isObject(other)) return other;
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    merged[key] = key in one ? merge(one[key], value) : value;
  }
  return merged;
}
