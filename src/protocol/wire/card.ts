/**
 * Encodes and decodes agent cards. Each version has its own encoder. There is only one decoder, because a client
 * cannot know a card's version before it reads the card. A card may also be valid in both versions.
 */
import { isObject } from '../../base/index.ts';
import {
  AgentCard,
  type AgentSkill,
  type OAuthFlows,
  type SecurityRequirement,
  type SecurityScheme,
} from '../card.ts';
import { parseWith } from '../json.ts';
import { answer, dropEmpty, objectAt, refuse, type Raw } from './read.ts';

const OLD_VERSION = '0.3';
/** The transport of a 0.3 card without `preferredTransport`. */
const DEFAULT_TRANSPORT = 'JSONRPC';

/**
 * Encodes a card for 0.3. The result contains only the addresses for 0.3. If there are none, it contains all
 * addresses, because a 0.3 card must have an address.
 */
export function encodeCardV03(card: AgentCard): Raw {
  const { supportedInterfaces, capabilities, ...rest } = card;
  const old = supportedInterfaces.filter(({ protocolVersion }) => isOld(protocolVersion));
  const interfaces = old.length > 0 ? old : supportedInterfaces;
  const { extendedAgentCard, ...oldCapabilities } = capabilities;
  return {
    ...rest,
    protocolVersion: '0.3.0',
    url: interfaces[0]?.url,
    preferredTransport: interfaces[0]?.protocolBinding,
    // 0.3 recommends repeating the main address in the list.
    additionalInterfaces: interfaces.map(({ url, protocolBinding }) => ({
      url,
      transport: protocolBinding,
    })),
    capabilities: oldCapabilities,
    ...(extendedAgentCard !== undefined && {
      supportsAuthenticatedExtendedCard: extendedAgentCard,
    }),
  };
}

/**
 * Encodes a 0.3 card for REST clients. One public SDK reads the card as plain JSON, and another SDK reads it as
 * ProtoJSON. The two formats differ in the security schemes and in the security requirements. The result contains each
 * scheme in both formats. The requirements cannot be valid in both formats, so they are plain JSON.
 */
export function encodeCardV03Rest(card: AgentCard): unknown {
  const { securitySchemes } = card;
  if (!securitySchemes) return encodeCardV03(card);
  const both = mapValues(securitySchemes, (scheme) => ({ ...scheme, ...encodeScheme(scheme) }));
  return { ...encodeCardV03(card), securitySchemes: both };
}

/**
 * Encodes a card for 1.0. Omits `stateTransitionHistory`, which 1.0 has removed, because strict parsers reject unknown
 * fields.
 */
export function encodeCardV1(card: AgentCard): unknown {
  const { security, securitySchemes, skills, capabilities, ...rest } = card;
  const { stateTransitionHistory: _, ...known } = capabilities;
  return {
    ...rest,
    capabilities: known,
    ...(securitySchemes && { securitySchemes: mapValues(securitySchemes, encodeScheme) }),
    ...(security && { securityRequirements: security.map(encodeRequirement) }),
    skills: skills.map(encodeSkill),
  };
}

function encodeSkill({ security, ...skill }: AgentSkill): unknown {
  return security ? { ...skill, securityRequirements: security.map(encodeRequirement) } : skill;
}

/** Reads a card of any version. Throws `invalidAgentResponse` if the card is invalid. */
export function decodeCard(raw: unknown): AgentCard {
  return answer(() => parseWith(AgentCard, readCard(objectAt(raw, 'card')), 'agent card'));
}

function readCard(raw: Raw): Raw {
  const {
    url: _url,
    preferredTransport: _transport,
    additionalInterfaces: _additional,
    protocolVersion: _version,
    supportsAuthenticatedExtendedCard: extended,
    securityRequirements,
    ...rest
  } = withoutNulls(raw);
  const capabilities = isObject(rest.capabilities) ? withoutNulls(rest.capabilities) : {};
  if (typeof extended === 'boolean') capabilities.extendedAgentCard ??= extended;
  const security = rest.security ?? securityRequirements;
  return {
    // ProtoJSON omits empty fields, including required fields.
    description: '',
    version: '',
    defaultInputModes: [],
    defaultOutputModes: [],
    ...rest,
    capabilities,
    supportedInterfaces: readInterfaces(raw),
    skills: Array.isArray(rest.skills) ? rest.skills.map(readSkill) : [],
    ...(isObject(rest.securitySchemes) && {
      securitySchemes: mapValues(rest.securitySchemes, readScheme),
    }),
    ...(Array.isArray(security) && { security: security.map(readRequirement) }),
  };
}

/** Returns the addresses in the 1.0 list, followed by the addresses that are only in the 0.3 fields. */
function readInterfaces(raw: Raw): Raw[] {
  const interfaces: Raw[] = [];
  if (Array.isArray(raw.supportedInterfaces)) {
    for (const item of raw.supportedInterfaces) {
      const entry = withoutNulls(objectAt(item, 'supportedInterfaces'));
      dropEmpty(entry, 'tenant');
      interfaces.push(entry);
    }
  }
  // In a 1.0 card, `url` may be a custom field. It is a 0.3 address only if the card declares version 0.3.
  if (interfaces.length > 0 && !isOld(raw.protocolVersion)) return interfaces;
  const additional = Array.isArray(raw.additionalInterfaces) ? raw.additionalInterfaces : [];
  addOld(interfaces, raw.url, raw.preferredTransport);
  for (const item of additional) if (isObject(item)) addOld(interfaces, item.url, item.transport);
  return interfaces;
}

function addOld(interfaces: Raw[], url: unknown, transport: unknown): void {
  if (url == null || url === '') return;
  const protocolBinding = transport == null || transport === '' ? DEFAULT_TRANSPORT : transport;
  for (const known of interfaces) {
    if (
      known.url === url &&
      known.protocolBinding === protocolBinding &&
      isOld(known.protocolVersion)
    ) {
      return;
    }
  }
  interfaces.push({ url, protocolBinding, protocolVersion: OLD_VERSION });
}

function isOld(version: unknown): boolean {
  return version === OLD_VERSION || (typeof version === 'string' && version.startsWith('0.3.'));
}

function readSkill(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const { securityRequirements, ...rest } = withoutNulls(raw);
  const security = rest.security ?? securityRequirements;
  return {
    description: '',
    tags: [],
    ...rest,
    ...(Array.isArray(security) && { security: security.map(readRequirement) }),
  };
}

function encodeRequirement(requirement: SecurityRequirement): unknown {
  return { schemes: mapValues(requirement, (list) => ({ list })) };
}

/**
 * Reads `{name: [scope]}` or `{schemes: {name: {list: [scope]}}}`. The formats cannot be confused: in the second
 * format, the value of `schemes` is an object. In the first one, the value of a scheme named "schemes" is an array.
 */
function readRequirement(raw: unknown): unknown {
  if (!isObject(raw) || !isObject(raw.schemes)) return raw;
  return mapValues(raw.schemes, (scopes) => (isObject(scopes) ? (scopes.list ?? []) : scopes));
}

/**
 * The member names of the scheme types in 1.0. A scheme has exactly one member, and the member's name identifies the
 * type.
 */
const MEMBERS = {
  apiKey: 'apiKeySecurityScheme',
  http: 'httpAuthSecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme',
} as const satisfies Record<SecurityScheme['type'], string>;

function encodeScheme(scheme: SecurityScheme): Raw {
  switch (scheme.type) {
    case 'apiKey': {
      const { type, in: location, ...rest } = scheme;
      return { [MEMBERS[type]]: { ...rest, location } };
    }
    case 'oauth2': {
      const { type, flows, ...rest } = scheme;
      return { [MEMBERS[type]]: { ...rest, flows: encodeFlows(flows) } };
    }
    default: {
      const { type, ...rest } = scheme;
      return { [MEMBERS[type]]: rest };
    }
  }
}

/**
 * The OAuth flows in order of preference. In 1.0, a scheme has only one flow, so the first flow that is present is
 * used.
 */
const FLOWS = [
  'authorizationCode',
  'clientCredentials',
  'deviceCode',
  'implicit',
  'password',
] as const satisfies (keyof OAuthFlows)[];

function encodeFlows(flows: OAuthFlows): unknown {
  for (const name of FLOWS) if (flows[name]) return { [name]: flows[name] };
  return flows;
}

function readScheme(given: unknown, name: string): unknown {
  if (!isObject(given)) return given;
  const raw = unboxed(given, 'scheme');
  if (isObject(raw.apiKeySecurityScheme)) {
    const { location, ...rest } = withoutNulls(raw.apiKeySecurityScheme);
    return { ...rest, type: 'apiKey', in: location };
  }
  if (isObject(raw.oauth2SecurityScheme)) {
    const { flows, ...rest } = withoutNulls(raw.oauth2SecurityScheme);
    const each = isObject(flows) ? mapValues(unboxed(flows, 'flow'), readFlow) : flows;
    return { ...rest, type: 'oauth2', flows: each };
  }
  for (const type of ['http', 'openIdConnect', 'mutualTLS'] as const) {
    const inside = raw[MEMBERS[type]];
    if (isObject(inside)) return { ...withoutNulls(inside), type };
  }
  if (typeof raw.type !== 'string') refuse(`securitySchemes.${name}`, 'unknown security scheme');
  return raw;
}

/**
 * Reads the format `{scheme: {$case: 'member', value}}`. This is an internal format of the JavaScript SDK 1.3.0, but
 * its servers send it.
 */
function unboxed(raw: Raw, field: string): Raw {
  const box = raw[field];
  return isObject(box) && typeof box.$case === 'string' ? { [box.$case]: box.value } : raw;
}

function readFlow(raw: unknown): unknown {
  return isObject(raw) ? { scopes: {}, ...withoutNulls(raw) } : raw;
}

function withoutNulls(raw: Raw): Raw {
  return Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null));
}

/**
 * Maps the values of an object whose keys come from a peer. Uses `fromEntries`, which treats even "__proto__" as an
 * ordinary key.
 */
function mapValues<T>(
  object: Readonly<Record<string, T>>,
  map: (value: T, name: string) => unknown,
): Raw {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, map(value, name)]),
  );
}
