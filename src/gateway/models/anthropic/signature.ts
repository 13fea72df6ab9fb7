/**
 * Signatures of thinking blocks. Clients send them back unchanged in the next request.
 *
 * Anthropic's own signatures are passed on as they are. Data of other vendors (the signature of a thought at Google, an
 * encrypted reasoning item at OpenAI) is encoded as a signature of ours. Anthropic does not accept such a signature, so
 * blocks with one are removed before a request is sent to Anthropic.
 */
import * as z from 'zod';
import type { JsonObject } from '../../../base/index.ts';

const PREFIX = 'parley.';
const MAX_CHARS = 1_000_000;

/** The data that a client may send back. A client could send anything here, so other fields are removed. */
const Carried = z.object({
  google: z.object({ thoughtSignature: z.string().optional() }).optional(),
  openai: z
    .object({
      itemId: z.string().max(256).optional(),
      reasoningEncryptedContent: z.string().nullish(),
    })
    .optional(),
});

/** Returns a signature of ours with the vendor's data. */
export function ownSignature(provider: JsonObject | undefined): string {
  const { success, data } = Carried.safeParse(provider ?? {});
  return PREFIX + Buffer.from(JSON.stringify(success ? data : {})).toString('base64url');
}

export function isOwnSignature(signature: string): boolean {
  return signature === '' || signature.startsWith(PREFIX);
}

/** Returns the vendor's data in a signature of ours. Returns undefined if there is none, or if it is invalid. */
export function carriedIn(signature: string): JsonObject | undefined {
  if (!signature.startsWith(PREFIX) || signature.length > MAX_CHARS) return undefined;
  try {
    const text = Buffer.from(signature.slice(PREFIX.length), 'base64url').toString('utf8');
    const carried: JsonObject = JSON.parse(JSON.stringify(Carried.parse(JSON.parse(text))));
    return Object.keys(carried).length > 0 ? carried : undefined;
  } catch {
    return undefined;
  }
}
