/** Reads the public keys of `--trust-key`. */
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isObject, reasonOf } from '../../base/index.ts';
import type { PublicJwk } from '../../client/index.ts';
import { usageError } from '../program/exit.ts';

/** Reads the keys of the files: PEM, JWK or a JWK set. */
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
  if (!text.trimStart().startsWith('{')) return [publicJwk(text)];
  const json: unknown = JSON.parse(text);
  const keys = isObject(json) && Array.isArray(json['keys']) ? json['keys'] : [json];
  return keys.map((key: unknown) => {
    if (!isObject(key)) throw new TypeError('a key is not an object');
    const { kid } = key;
    const found = publicJwk({ key, format: 'jwk' });
    return typeof kid === 'string' ? Object.assign(found, { kid }) : found;
  });
}

function publicJwk(source: Parameters<typeof createPublicKey>[0]): PublicJwk {
  const { kty, ...fields } = createPublicKey(source).export({ format: 'jwk' });
  if (kty === undefined) throw new TypeError('the type of the key is not supported');
  return { kty, ...fields };
}
