/** Reads the public keys of `--trust-key`. */
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isObject, reasonOf } from '../../base/index.ts';
import { pemBlocks } from '../../base/signing/index.ts';
import type { PublicJwk } from '../../client/index.ts';
import { usageError } from '../program/exit.ts';

/** Reads all keys of the files. A file has one or more PEM blocks, a JWK or a JWK set. */
export function trustedKeys(files: readonly string[]): PublicJwk[] {
  return files.flatMap((file) => {
    try {
      return keysIn(readFileSync(file, 'utf8'));
    } catch (error) {
      throw usageError(
        `--trust-key ${file}: ${reasonOf(error)}; the file must have a public key as PEM, JWK or JWK set`,
        { cause: error },
      );
    }
  });
}

function keysIn(text: string): PublicJwk[] {
  if (!text.trimStart().startsWith('{')) return pemKeysIn(text);
  const json: unknown = JSON.parse(text);
  const keys = isObject(json) && Array.isArray(json['keys']) ? json['keys'] : [json];
  return keys.map((key: unknown) => {
    if (!isObject(key)) throw new TypeError('a key is not an object');
    const { kid } = key;
    const found = publicJwk({ key, format: 'jwk' });
    return typeof kid === 'string' ? Object.assign(found, { kid }) : found;
  });
}

function pemKeysIn(text: string): PublicJwk[] {
  // Skips other blocks, such as the parameters that openssl writes before an EC key.
  const blocks = pemBlocks(text).filter((block) => /^-----BEGIN [A-Z ]*KEY-----/.test(block));
  // If there is no key block, Node reads the key of a certificate, or throws an error with the reason.
  return blocks.length === 0 ? [publicJwk(text)] : blocks.map(publicJwk);
}

function publicJwk(source: Parameters<typeof createPublicKey>[0]): PublicJwk {
  const { kty, ...fields } = createPublicKey(source).export({ format: 'jwk' });
  if (kty === undefined) throw new TypeError('the type of the key is not supported');
  return { kty, ...fields };
}
