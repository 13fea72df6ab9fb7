/** Verifies signatures with public keys (JWK). Uses Web Crypto, which browsers have too. */
import { isObject } from '../../base/index.ts';

/** A public key as JSON (RFC 7517). */
export interface PublicJwk {
  readonly kty: string;
  readonly kid?: string | undefined;
  readonly alg?: string | undefined;
  readonly use?: string | undefined;
  readonly crv?: string | undefined;
  readonly x?: string | undefined;
  readonly y?: string | undefined;
  readonly n?: string | undefined;
  readonly e?: string | undefined;
}

interface Algorithm {
  /** The values that a key must have in these fields to verify signatures of this algorithm. */
  readonly key: Readonly<Partial<PublicJwk>>;
  /** The public fields that Web Crypto needs. */
  readonly fields: readonly (keyof PublicJwk)[];
  readonly parameters: Parameters<typeof crypto.subtle.importKey>[2] & { readonly name: string };
  readonly verification?: object;
}

const ED25519: Algorithm = {
  key: { kty: 'OKP', crv: 'Ed25519' },
  fields: ['kty', 'crv', 'x'],
  parameters: { name: 'Ed25519' },
};
const RSA: Pick<Algorithm, 'key' | 'fields'> = { key: { kty: 'RSA' }, fields: ['kty', 'n', 'e'] };
const HASH = 'SHA-256';

/** The accepted algorithms. None of them uses a shared secret, so a public key cannot be misused as a secret. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['EdDSA', ED25519],
  ['Ed25519', ED25519],
  [
    'ES256',
    {
      key: { kty: 'EC', crv: 'P-256' },
      fields: ['kty', 'crv', 'x', 'y'],
      parameters: { name: 'ECDSA', namedCurve: 'P-256' },
      verification: { hash: HASH },
    },
  ],
  ['RS256', { ...RSA, parameters: { name: 'RSASSA-PKCS1-v1_5', hash: HASH } }],
  [
    'PS256',
    { ...RSA, parameters: { name: 'RSA-PSS', hash: HASH }, verification: { saltLength: 32 } },
  ],
]);

/** Minimum size of an RSA key. Shorter keys can be broken. */
const MIN_RSA_BYTES = 256;
const MAX_HEADER_CHARS = 8192;

/** The fields of a signature's protected header that a verifier needs. */
export interface JwsHeader {
  readonly alg: string;
  readonly kid: string | undefined;
  readonly jku: string | undefined;
}

/** Reads a protected header. Returns undefined if it is invalid, or if it requires an unsupported feature. */
export function readJwsHeader(text: string): JwsHeader | undefined {
  if (text.length > MAX_HEADER_CHARS) return undefined;
  const bytes = fromBase64(text);
  if (!bytes) return undefined;
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  if (!isObject(header) || 'crit' in header || typeof header['alg'] !== 'string') return undefined;
  const { alg, kid, jku } = header;
  return {
    alg,
    kid: typeof kid === 'string' ? kid : undefined,
    jku: typeof jku === 'string' ? jku : undefined,
  };
}

/** Returns whether signatures of this algorithm can be verified. */
export function isSupportedAlgorithm(alg: string): boolean {
  return ALGORITHMS.has(alg);
}

/** Returns whether the key may verify signatures of this algorithm. */
export function fitsAlgorithm(key: PublicJwk, alg: string): boolean {
  const algorithm = ALGORITHMS.get(alg);
  if (!algorithm || (key.use !== undefined && key.use !== 'sig')) return false;
  if (key.alg !== undefined && ALGORITHMS.get(key.alg) !== algorithm) return false;
  if (key.kty === 'RSA' && (fromBase64(key.n ?? '')?.length ?? 0) < MIN_RSA_BYTES) return false;
  return key.kty === algorithm.key.kty && key.crv === algorithm.key.crv;
}

/** Returns whether the signature of the data is valid. Returns false if the key does not fit the algorithm. */
export async function verifySignature(
  alg: string,
  key: PublicJwk,
  signature: Uint8Array<ArrayBuffer>,
  data: string,
): Promise<boolean> {
  const algorithm = ALGORITHMS.get(alg);
  if (!algorithm || !fitsAlgorithm(key, alg)) return false;
  const { fields, parameters, verification } = algorithm;
  try {
    const source = Object.fromEntries(fields.map((name) => [name, key[name]]));
    const imported = await crypto.subtle.importKey('jwk', source, parameters, false, ['verify']);
    const how = { name: parameters.name, ...verification };
    return await crypto.subtle.verify(how, imported, signature, new TextEncoder().encode(data));
  } catch {
    // The key is not valid, for example because it is not a point of the curve.
    return false;
  }
}

/** Decodes base64 or base64url. Returns undefined if the text is neither. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Encodes text as base64url. */
export function toBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
