/**
 * The texts of an agent card that a signature may cover (A2A 1.0, section 8.4).
 *
 * According to the specification, the text is the canonical JSON of the card without `signatures`. The public SDKs sign
 * another text. They parse the card first, which drops unknown fields, and then remove all empty values. So a card has
 * several texts. A server makes a signature for each of them, and a verifier tries each of them.
 *
 * Each text comes with the card that it describes. After a verification, only this card may be used, because fields
 * that are not in the text are not signed.
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
 * Returns the texts of a card. The card is JSON in the format of any version. If `version` is given, returns only the
 * text of the specification and the texts for SDKs of this version.
 */
export function signedTexts(sent: unknown, version?: ProtocolVersion): SignedText[] {
  const { signatures: _, ...whole } = objectAt(sent, 'card');
  const { signatures: _signatures, ...card } = decodeCard(sent);
  const texts = [signedText(whole)];
  if (version !== '0.3') {
    const known = known1(card);
    const { securitySchemes: _schemes, ...schemeless } = known;
    // The text of Python's SDK since its version 1.0. The JavaScript SDK signs the same text for a card that it did not
    // parse.
    texts.push(...python(signedText(known)));
    // The text of the JavaScript SDK 1.3 for a parsed card. This SDK loses the security schemes when it parses a
    // card.
    texts.push(signedText(schemeless));
  }
  if (version !== '1.0') {
    const known = known03(card);
    // The text of Python's SDK 0.3. It omits the types of the security schemes, so the schemes cannot be read from
    // this text.
    const { security: _security, securitySchemes: _schemes, ...readable } = known;
    texts.push(...python(signedText(known, readable)));
  }
  return texts.filter((each, at) => texts.findIndex(({ text }) => text === each.text) === at);
}

function signedText(content: Raw, readable: Raw = content): SignedText {
  return { text: canonicalJson(content), card: () => decodeCard(readable) };
}

/**
 * Returns two texts: the given text, and the same text with DEL and all non-ASCII characters escaped. Python's SDKs
 * escape these characters, contrary to RFC 8785 (canonical JSON).
 */
function python(signed: SignedText): SignedText[] {
  const text = signed.text.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [signed, { ...signed, text }];
}

/** The fields of a JSON object that an SDK knows. The value of a field with `true` is kept unchanged. */
interface Fields {
  readonly [name: string]: true | Fields;
}

function fields(names: string, inside: Fields = {}): Fields {
  return {
    ...Object.fromEntries(names.split(' ').map((name) => [name, true as const])),
    ...inside,
  };
}

const FIELDS = fields(
  'name description version documentationUrl iconUrl securitySchemes defaultInputModes defaultOutputModes',
  { provider: fields('organization url') },
);
const CAPABILITIES = fields('streaming pushNotifications', {
  extensions: fields('uri description required params'),
});
const SKILL = fields('id name description tags examples inputModes outputModes');
const FIELDS_1: Fields = {
  ...FIELDS,
  supportedInterfaces: fields('url protocolBinding tenant protocolVersion'),
  capabilities: { ...CAPABILITIES, extendedAgentCard: true },
  securityRequirements: true,
  skills: { ...SKILL, securityRequirements: true },
};
const FIELDS_03: Fields = {
  ...FIELDS,
  url: true,
  preferredTransport: true,
  additionalInterfaces: fields('url transport'),
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

/**
 * Removes `required` from an extension if it is false, because ProtoJSON omits this field if it is false. The
 * capabilities of a 1.0 card are different: their fields are optional in the proto file, so ProtoJSON writes false.
 */
function withoutFalse({ required, ...rest }: AgentExtension): AgentExtension {
  return required === true ? { ...rest, required } : rest;
}

/**
 * Returns the fields of a 0.3 card that Python's SDK writes. Pydantic omits the fields that have their default value.
 */
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

/** Removes null, empty strings, empty lists and empty objects. Also removes lists and objects that become empty. */
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
