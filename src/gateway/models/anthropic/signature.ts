/**
 * Signatures of thinking blocks. Clients send them back unchanged in the next request.
 *
 * Anthropic's own signatures are passed on as they are. Data of other vendors (the signature of a thought at Google, an
 * encrypted reasoning item at OpenAI) is encoded as a signature of ours. Anthropic does not accept such a signature, so
 * blocks with one are removed before a request is sent to Anthropic.
 */
import type { JsonObject } from '../../../base/index.ts';
import { decodeCarried, encodeCarried, isCarried } from '../vendor-api/carried.ts';

/** Returns a signature of ours with the vendor's data. */
export function ownSignature(provider: JsonObject | undefined): string {
  return encodeCarried({ provider: provider ?? {} });
}

export function isOwnSignature(signature: string): boolean {
  return signature === '' || isCarried(signature);
}

/** Returns the vendor's data in a signature of ours. Returns undefined if there is none, or if it is invalid. */
export function carriedIn(signature: string): JsonObject | undefined {
  return decodeCarried(signature)?.provider;
}
