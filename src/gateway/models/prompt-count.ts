/**
 * Counts the tokens of a prompt for budgets. A provider with the API that the client uses gets the client's request
 * without conversion. This request may contain texts that the converted request does not contain. These texts are
 * counted too, so that no caller can hide a long prompt in them.
 */
import type { ModelRequest } from '../../agent/index.ts';
import type { Relay } from './relay/relay.ts';
import type { ModelTarget } from './catalogue.ts';
import { relays } from './provider.ts';
import { type TokenCounter, tokenCounter } from './token-count.ts';

/**
 * The client's own request has ids and other short fields that the converted request does not have. These fields are
 * not counted, because the estimate for the converted request is high enough to include them. So the difference in
 * length counts only if it exceeds an allowance. The allowance is SHORT_FIELDS characters plus the fraction SHORT_PART
 * of the length of the client's request.
 */
const SHORT_FIELDS = 1000;
const SHORT_PART = 1 / 8;

/**
 * Fields with encrypted thoughts or signatures. They are left out when the lengths of the two requests are compared. A
 * caller cannot hide text in these fields, because a vendor refuses data that it did not encrypt itself.
 */
const ENCRYPTED: ReadonlySet<string> = new Set([
  'encrypted_content',
  'reasoningEncryptedContent',
  'redactedData',
  'signature',
  'thoughtSignature',
  'thought_signature',
]);

/**
 * Estimates the number of tokens of the prompt. The estimate is high enough for the vendor of every candidate
 * (tokenCounter).
 */
export function promptOf(
  { candidates }: Pick<ModelTarget, 'candidates'>,
  request: ModelRequest,
  relay: Relay | undefined,
): number {
  const counter = tokenCounter(candidates);
  const own = relay && candidates.find(({ provider }) => relays(provider, relay));
  const more = own ? unconverted(relay.body(own.model, undefined), request, counter) : 0;
  return counter.prompt(request) + more;
}

/** Estimates the tokens of the texts that are only in the client's own request, from the difference in length. */
function unconverted(body: unknown, request: ModelRequest, counter: TokenCounter): number {
  const text = JSON.stringify(body, withoutEncrypted) ?? '';
  const converted = JSON.stringify(request, withoutEncrypted).length;
  const chars = text.length * (1 - SHORT_PART) - converted - SHORT_FIELDS;
  return chars <= 0 ? 0 : Math.ceil((counter.text(text) * chars) / text.length);
}

function withoutEncrypted(name: string, value: unknown): unknown {
  return typeof value === 'string' && ENCRYPTED.has(name) ? undefined : value;
}
