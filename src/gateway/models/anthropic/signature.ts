/**
 * Signatures of thinking blocks. Clients send them back unchanged in the next request.
 *
 * Anthropic's own signatures are passed on as they are. Data of other vendors, such as Google's signature of a thought
 * or OpenAI's encrypted reasoning item, is encoded as a signature of the gateway. Anthropic does not accept the
 * gateway's signatures, so blocks with such a signature are removed before a request is sent to Anthropic.
 */
import type { JsonObject } from '../../../base/index.ts';
import { decodeCarried, encodeCarried, isCarried } from '../vendor-api/carried.ts';

/** Returns a signature of the gateway that contains the vendor's data. */
export function ownSignature(provider: JsonObject | undefined): string {
  return encodeCarried({ provider: provider ?? {} });
}

/** Returns whether the gateway created the signature. An empty signature counts too, because Anthropic refuses it. */
export function isOwnSignature(signature: string): boolean {
  return signature === '' || isCarried(signature);
}

/** Returns the vendor's data in a signature of the gateway, or undefined if there is no valid data. */
export function carriedIn(signature: string): JsonObject | undefined {
  return decodeCarried(signature)?.provider;
}
