/**
 * The Ed25519 keys with which a server signs its webhooks and its agent cards.
 *
 * The first key of a file signs. The server publishes all keys of the file in `/.well-known/jwks.json`, so that a
 * peer can still verify signatures of an earlier key. To rotate the keys, put a new key in front of the others and
 * restart the server. Remove the old key some days later.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { reasonOf, systemCode } from '../errors.ts';
import { isObject } from '../json.ts';
import { readOrCreateSecret } from '../files/index.ts';

/** A public key as JSON (RFC 7517). */
export interface PublicKeyJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** The public key in base64url. */
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

/** The keys with which a server signs its webhooks and its agent cards. */
export interface SigningKeys {
  /** The id of the key that signs. */
  readonly kid: string;
  /** The public keys. The key that signs comes first. */
  readonly publicKeys: readonly PublicKeyJwk[];
  /** Signs the data with Ed25519. Returns the 64 bytes of the signature. */
  sign(data: string | Uint8Array): Buffer;
}

/** The error for a file without a usable signing key. The message says what is wrong and, in most cases, what to do. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

const CREATE_HINT = 'create one with: openssl genpkey -algorithm ed25519 -out key.pem';
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;
/** Maximum number of keys in a file. A receiver of webhooks may have to try every key. */
const MAX_KEYS = 16;

/**
 * Returns a new key that exists only in this process. The key is made on first use, because making it takes
 * milliseconds.
 */
export function temporarySigningKeys(): SigningKeys {
  let made: SigningKeys | undefined;
  const keys = () => {
    return (made ??= signingKeysOf([{ key: generateKeyPairSync('ed25519').privateKey }]));
  };
  return {
    get kid() {
      return keys().kid;
    },
    get publicKeys() {
      return keys().publicKeys;
    },
    sign: (data) => keys().sign(data),
  };
}

/**
 * Reads keys from the text of a file: one or more PEM blocks, a JWK, or a JWK set. The first key must be private.
 * Throws a SigningKeyError if there is no key, if a key is not usable, or if there are too many keys.
 *
 *   serve(agent, { signing: signingKeys(await readFile('key.pem', 'utf8')) });
 */
export function signingKeys(text: string): SigningKeys {
  const keys = text.trimStart().startsWith('{') ? jwksIn(text) : pemsIn(text);
  if (keys.length > MAX_KEYS) {
    throw new SigningKeyError(`at most ${MAX_KEYS} keys are allowed: remove the oldest`);
  }
  return signingKeysOf(keys);
}

/** Reads the keys from a file that the operator has created. Throws a SigningKeyError if this fails. */
export function readSigningKeys(file: string): SigningKeys {
  return explain(file, () => signingKeys(readFileSync(file, 'utf8')));
}

/**
 * Reads the keys from this program's own file. If the file does not exist, creates it with a new key. Throws a
 * SigningKeyError if this fails.
 */
export function openSigningKeys(file: string): SigningKeys {
  return explain(file, () => signingKeys(readOrCreateSecret(file, newKeyText).toString()));
}

function newKeyText(): string {
  return generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey;
}

function explain(file: string, read: () => SigningKeys): SigningKeys {
  try {
    return read();
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT';
    const problem = isMissing ? `there is no such file: ${CREATE_HINT}` : reasonOf(error);
    throw new SigningKeyError(`${file}: ${problem}`, { cause: error });
  }
}

interface FoundKey {
  readonly key: KeyObject;
  readonly kid?: string | undefined;
}

/** Returns the PEM blocks in a text, such as the keys of a file with several keys. */
export function pemBlocks(text: string): readonly string[] {
  return text.match(PEM_BLOCK) ?? [];
}

function pemsIn(text: string): FoundKey[] {
  const blocks = pemBlocks(text);
  if (blocks.length === 0) {
    throw new SigningKeyError(`there is no key in PEM or JWK format: ${CREATE_HINT}`);
  }
  return blocks.map((block) => {
    const isPublic = block.startsWith('-----BEGIN PUBLIC KEY');
    return { key: parsed(() => (isPublic ? createPublicKey(block) : createPrivateKey(block))) };
  });
}

function jwksIn(text: string): FoundKey[] {
  const json = parsed((): unknown => JSON.parse(text));
  const set = isObject(json) && Array.isArray(json['keys']) ? json['keys'] : [json];
  return set.map((jwk: unknown) => {
    if (!isObject(jwk)) throw new SigningKeyError('a key of the set is not an object');
    const { kty, crv, x, d, kid } = jwk;
    if (kty !== 'OKP' || crv !== 'Ed25519') throw notEd25519(crv ?? kty);
    if (typeof x !== 'string') {
      throw new SigningKeyError(`the JWK has no public key ("x"): ${CREATE_HINT}`);
    }
    const source = { kty, crv, x };
    const key = parsed(() =>
      typeof d === 'string'
        ? createPrivateKey({ key: { ...source, d }, format: 'jwk' })
        : createPublicKey({ key: source, format: 'jwk' }),
    );
    return { key, kid: typeof kid === 'string' && kid !== '' ? kid : undefined };
  });
}

function parsed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    // The message does not quote the parser's error, because this error may contain a part of the key.
    throw new SigningKeyError(`the key cannot be read: ${CREATE_HINT}`, { cause: error });
  }
}

function notEd25519(found: unknown): SigningKeyError {
  return new SigningKeyError(
    `the key must be an Ed25519 key, but its type is ${String(found)}: ${CREATE_HINT}`,
  );
}

function signingKeysOf(found: readonly FoundKey[]): SigningKeys {
  const [first] = found;
  if (first?.key.type !== 'private') {
    throw new SigningKeyError('the first key must be a private key, because it signs');
  }
  const { key } = first;
  const publicKeys = found.map(publicKeyOf);
  const kids = publicKeys.map(({ kid }) => kid);
  const twice = kids.find((kid, at) => kids.indexOf(kid) !== at);
  if (twice !== undefined) throw new SigningKeyError(`two keys have the id ${twice}`);
  return {
    kid: kids[0] ?? '',
    publicKeys,
    sign: (data) => sign(null, typeof data === 'string' ? Buffer.from(data) : data, key),
  };
}

function publicKeyOf({ key, kid }: FoundKey): PublicKeyJwk {
  if (key.asymmetricKeyType !== 'ed25519') throw notEd25519(key.asymmetricKeyType);
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  });
  const shape = { crv: 'Ed25519', kty: 'OKP', x } as const;
  // RFC 7638 requires the members in alphabetical order and without white space.
  const thumbprint = () => createHash('sha256').update(JSON.stringify(shape)).digest('base64url');
  return { ...shape, kid: kid ?? thumbprint(), alg: 'EdDSA', use: 'sig' };
}
