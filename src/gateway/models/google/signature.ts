/**
 * Signatures of thoughts and calls. Clients send them back unchanged in the next request. Google's own signatures are
 * passed on as they are. Data of other vendors is encoded as a signature of the gateway. Every signature is valid
 * base64, because some clients decode it.
 */
import type { JsonObject } from '../../../base/index.ts';
import { thoughtSignatureIn } from '../vendor-api/answer.ts';
import {
  type Carried,
  type CarriedThought,
  decodeCarried,
  encodeCarried,
  isCarried,
} from '../vendor-api/carried.ts';

/**
 * Returns a signature that contains the vendor's data, and the thoughts before a call. If the data has a signature of
 * Google, returns Google's signature, which does not contain these thoughts.
 */
export function signatureOf(
  provider: JsonObject,
  thoughts: readonly CarriedThought[] = [],
): string {
  const own = thoughtSignatureIn(provider['google']);
  return own ?? Buffer.from(encodeCarried({ provider, thoughts })).toString('base64');
}

/** Returns whether the gateway created the signature. */
export function isOwnSignature(signature: string): boolean {
  return isCarried(Buffer.from(signature.slice(0, 16), 'base64').toString('utf8'));
}

/**
 * Returns the vendor's data in a signature, or undefined if a signature of the gateway is invalid. A signature that the
 * gateway did not create counts as Google's.
 */
export function carriedIn(signature: string): Carried | undefined {
  if (!isOwnSignature(signature)) return { provider: { google: { thoughtSignature: signature } } };
  return decodeCarried(Buffer.from(signature, 'base64').toString('utf8'));
}
