/**
 * The texts of an agent card that a signature may cover (A2A 1.0, section 8.4).
 *
 * The specification wants the card as it is sent, without `signatures`, as canonical JSON. The public SDKs sign another
 * text: they parse the card first, which drops the fields that they do not know, and then drop all empty values. So a
 * card has several texts. A signer signs each of them, and a verifier tries each of them.
 *
 * Each text comes with the card that it describes. After a verification only this card may be used, because fields that
 * are not in the text are not signed.
 */
import { canonicalJson, isObject } from '../../base/index.ts';
import type { AgentCard, AgentExtension } from '../card.ts';
import type { ProtocolVersion } from '../version.ts';
import { decodeCard, encodeCardV03, encodeCardV1 } from './card.ts';
import { objectAt, type Raw } from './read.ts';

/** A text that a signature may cover. */
export interface SignedText {
  readonly text: string;
  /** Reads the part of the card that the text contains. */
  readonly card: () => AgentCard;
}

/**
 * Returns the texts of a card, which is JSON in the format of any version. With a version, returns only the texts for
 * SDKs of this version.
 */
export function signedTexts(sent: unknown, version?: ProtocolVersion): SignedText[] {
  const { signatures: _, ...whole } = objectAt(sent, 'card');
  const { signatures: _signatures, ...card } = decodeCard(sent);
  const texts = [signedText(whole)];
  if (version !== '0.3') {
    const known = known1(card);
    const { securitySchemes: _schemes, ...schemeless } = known;
    // Python's SDK from 1.0, and the JavaScript SDK for a card that it did not parse.
    texts.push(...python(signedText(known)));
    // The JavaScript SDK 1.3 loses the security schemes of a card that it has parsed.
    texts.push(signedText(schemeless));
  }
  if (version !== '1.0') {
    const known = known03(card);
    // Python's SDK 0.3 leaves out the types of the security schemes, so the schemes cannot be read from this text.
    const { security: _security, securitySchemes: _schemes, ...readable } = known;
    texts.push(...python(signedText(known, readable)));
  }
  return texts.filter((each, at) => texts.findIndex(({ text }) => text === each.text) === at);
}

function signedText(content: Raw, readable: Raw = content): SignedText {
  return { text: canonicalJson(content), card: () => decodeCard(readable) };
}

/** Python's SDKs escape all characters outside ASCII, against the RFC. */
function python(signed: SignedText): SignedText[] {
  const text = signed.text.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [signed, { ...signed, text }];
}

/** The fields of a message that an SDK knows. A field with `true` is kept whole. */
interface Fields {
  readonly [name: string]: true | Fields;
}

const FIELDS: Fields = {
  name: true,
  description: true,
  version: true,
  provider: { organization: true, url: true },
  documentationUrl: true,
  iconUrl: true,
  securitySchemes: true,
  defaultInputModes: true,
  defaultOutputModes: true,
};
const CAPABILITIES: Fields = {
  streaming: true,
  pushNotifications: true,
  extensions: { uri: true, description: true, required: true, params: true },
};
const SKILL: Fields = {
  id: true,
  name: true,
  description: true,
  tags: true,
  examples: true,
  inputModes: true,
  outputModes: true,
};
const FIELDS_1: Fields = {
  ...FIELDS,
  supportedInterfaces: { url: true, protocolBinding: true, tenant: true, protocolVersion: true },
  capabilities: { ...CAPABILITIES, extendedAgentCard: true },
  securityRequirements: true,
  skills: { ...SKILL, securityRequirements: true },
};
const FIELDS_03: Fields = {
  ...FIELDS,
  url: true,
  preferredTransport: true,
  additionalInterfaces: { url: true, transport: true },
  capabilities: { ...CAPABILITIES, stateTransitionHistory: true },
  security: true,
  skills: { ...SKILL, security: true },
  supportsAuthenticatedExtendedCard: true,
};

function known1(card: AgentCard): Raw {
  const { capabilities, ...rest } = card;
  const extensions = capabilities.extensions?.map(withoutFalse);
  const encoded = encodeCardV1({ ...rest, capabilities: { ...capabilities, extensions } });
  return compact(pick(encoded, FIELDS_1));
}

/** `required` of an extension is the only boolean of a 1.0 card that cannot tell false from absent. */
function withoutFalse({ required, ...rest }: AgentExtension): AgentExtension {
  return required === true ? { ...rest, required } : rest;
}

/** Pydantic leaves out the fields that have their default value. */
function known03(card: AgentCard): Raw {
  const { preferredTransport, securitySchemes, ...rest } = encodeCardV03(card);
  const schemes = isObject(securitySchemes)
    ? Object.entries(securitySchemes).map(([name, scheme]) => {
        const { type: _, ...fields } = isObject(scheme) ? scheme : {};
        return [name, fields] as const;
      })
    : [];
  const more = {
    ...(preferredTransport !== 'JSONRPC' && { preferredTransport }),
    securitySchemes: Object.fromEntries(schemes),
  };
  return compact(pick({ ...rest, ...more }, FIELDS_03));
}

function pick(value: unknown, fields: Fields | true): unknown {
  if (fields === true) return value;
  if (Array.isArray(value)) return value.map((item) => pick(item, fields));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => Object.hasOwn(value, name))
      .map(([name, inside]) => [name, pick(value[name], inside)]),
  );
}

function compact(card: unknown): Raw {
  const kept = withoutEmpty(card);
  return isObject(kept) ? kept : {};
}

/** Removes empty texts, lists and objects, and objects that become empty. */
function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}
