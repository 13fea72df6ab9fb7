/** Verifies the signature of an agent card (A2A 1.0, section 8.4). */
import { isObject, reasonOf } from '../../base/index.ts';
import { signedTexts, type AgentCard } from '../../protocol/index.ts';
import { CardSignatureError, type CardSignatureProblem, quote } from './errors.ts';
import {
  fitsAlgorithm,
  fromBase64,
  isSupportedAlgorithm,
  readJwsHeader,
  toBase64Url,
  verifySignature,
  type JwsHeader,
  type PublicJwk,
} from './jws.ts';
import { fetchKeySet, KEY_SET_PATH } from './key-set.ts';
import { credentialOrigin } from './request.ts';

/**
 * The keys whose signatures are accepted: the public keys in `keys`, and the keys at the addresses in `jwks`. At least
 * one of the two fields is required. With `true`, only keys that the agent's own origin publishes are accepted.
 */
export type CardTrust =
  | true
  | {
      /** Public keys, as JSON. */
      readonly keys?: readonly PublicJwk[] | undefined;
      /** Addresses of key sets (JWKS). */
      readonly jwks?: readonly string[] | undefined;
    };

/** A card that has a valid signature. */
export interface VerifiedCard {
  /** The card with only the fields that the signature covers. */
  readonly card: AgentCard;
  readonly alg: string;
  /** The id of the key that signed. */
  readonly kid: string | undefined;
  /** The address from which the key was fetched. Undefined for a key in `CardTrust.keys`. */
  readonly jku: string | undefined;
}

/** Maximum number of signatures that are tried. */
const MAX_SIGNATURES = 16;
/** Maximum number of keys of a fetched set that are tried for a signature. All keys in `CardTrust.keys` are tried. */
const MAX_FETCHED_KEYS = 4;

/**
 * Throws a TypeError for an object without `keys` and `jwks`. Both may be missing by mistake, for example
 * because a variable is not set. Therefore, such an object is refused and not treated as `true`.
 */
export function checkTrust(trust: CardTrust): void {
  if (trust === true || trust.keys || trust.jwks) return;
  throw new TypeError(
    "`verify` has no keys: pass { keys: [...] } with public keys, { jwks: ['https://...'] } with addresses of key sets, or true for the keys that the agent's own origin publishes",
  );
}

/**
 * Verifies a card. `raw` is the JSON that was received from `url`. Throws a CardSignatureError if no signature is
 * accepted.
 */
export async function verifyCard(
  raw: unknown,
  url: string,
  trust: CardTrust,
  options: {
    readonly fetch?: typeof globalThis.fetch | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<VerifiedCard> {
  checkTrust(trust);
  const signatures = isObject(raw) && Array.isArray(raw['signatures']) ? raw['signatures'] : [];
  if (signatures.length === 0) throw new CardSignatureError('unsigned', `${url} is not signed`);
  const texts = signedTexts(raw);
  const sets = new Map<string, Promise<PublicJwk[]>>();
  const keysAt = (address: string) => {
    const known = sets.get(address) ?? fetchKeySet(address, options.fetch, options.signal);
    sets.set(address, known);
    return known;
  };
  let problem: CardSignatureError | undefined;
  const report = (reason: CardSignatureProblem, message: string, cause?: unknown) => {
    // For the caller, a problem with a trusted key is more important than a signature with an untrusted key.
    if (problem === undefined || problem.reason === 'untrusted') {
      problem = new CardSignatureError(reason, message, cause === undefined ? {} : { cause });
    }
  };
  for (const entry of signatures.slice(0, MAX_SIGNATURES)) {
    const found = readSignature(entry);
    if (!found) {
      report('untrusted', `${url} has a signature of a kind that is not supported`);
      continue;
    }
    const { header, signature, protectedText } = found;
    for (const place of placesOf(header, url, trust)) {
      let keys: readonly PublicJwk[];
      try {
        keys = place.keys ?? (await keysAt(place.jku));
      } catch (error) {
        options.signal?.throwIfAborted();
        report(
          'unavailable',
          `the keys at ${place.jku} are unavailable: ${reasonOf(error)}`,
          error,
        );
        continue;
      }
      const fitting = keys.filter((key) => fitsKey(key, header));
      const usable = place.keys ? fitting : fitting.slice(0, MAX_FETCHED_KEYS);
      if (usable.length === 0) {
        report('untrusted', `${url} is signed with the key ${named(header)}, which is not trusted`);
      }
      for (const key of usable) {
        for (const { text, card } of texts) {
          const data = `${protectedText}.${toBase64Url(text)}`;
          if (!(await verifySignature(header.alg, key, signature, data))) continue;
          return { card: card(), alg: header.alg, kid: key.kid ?? header.kid, jku: place.jku };
        }
        report('invalid', `the signature of ${url} with the key ${named(header)} is not valid`);
      }
    }
    report('untrusted', untrusted(header, url));
  }
  throw problem ?? new CardSignatureError('untrusted', `${url} has no signature of a trusted key`);
}

function readSignature(entry: unknown) {
  if (!isObject(entry)) return undefined;
  const { protected: protectedText, signature } = entry;
  if (typeof protectedText !== 'string' || typeof signature !== 'string') return undefined;
  const header = readJwsHeader(protectedText);
  const bytes = fromBase64(signature);
  if (!header || !bytes || !isSupportedAlgorithm(header.alg)) return undefined;
  return { header, signature: bytes, protectedText };
}

function fitsKey(key: PublicJwk, { alg, kid }: JwsHeader): boolean {
  if (kid !== undefined && key.kid !== undefined && kid !== key.kid) return false;
  return fitsAlgorithm(key, alg);
}

type Place =
  | { readonly keys: readonly PublicJwk[]; readonly jku?: undefined }
  | { readonly keys?: undefined; readonly jku: string };

/**
 * Returns the places at which to look for the key. The address in a signature is used only if `trust` is `true` and the
 * address has the origin of the card.
 */
function placesOf({ jku }: JwsHeader, cardUrl: string, trust: CardTrust): Place[] {
  if (trust !== true) {
    const { keys, jwks } = trust;
    const pinned: Place[] = keys ? [{ keys }] : [];
    return [...pinned, ...(jwks ?? []).map((address) => ({ jku: address }))];
  }
  const own = new URL(cardUrl);
  const address = URL.parse(jku ?? KEY_SET_PATH, cardUrl);
  if (!address || credentialOrigin(address) !== credentialOrigin(own)) return [];
  return [{ jku: address.href }];
}

function untrusted({ jku, ...header }: JwsHeader, url: string): string {
  const where = jku === undefined ? '' : ` at ${quote(jku, 200)}`;
  return `${url} is signed with the key ${named(header)}${where}, which is not trusted: add the key or its address to \`verify\` if you trust it`;
}

function named({ kid, alg }: Pick<JwsHeader, 'kid' | 'alg'>): string {
  return kid === undefined ? `of an unnamed ${alg} signer` : `"${quote(kid, 100)}"`;
}
