/**
 * Counts the tokens of a prompt for budgets. A provider with the client's own API gets the client's request, which may
 * have texts that the converted request does not have, in fields that only this API knows. They count too: otherwise a
 * long prompt could be hidden in them.
 */
import type { ModelRequest } from '../../agent/index.ts';
import type { Relay } from '../../agent/internal/index.ts';
import type { ModelTarget } from './catalogue.ts';
import { type TokenCounter, tokenCounter } from './token-count.ts';

/**
 * The client's own request may be longer by this many characters and by this part of it, because it has ids and other
 * short fields that are no text. The count of the rest is higher than the real one by more than that.
 */
const SHORT_FIELDS = 1000;
const SHORT_PART = 1 / 8;

/** Encrypted thoughts. A vendor refuses them if they are not its own, so no text can be hidden in them. */
const ENCRYPTED: ReadonlySet<string> = new Set([
  'encrypted_content',
  'reasoningEncryptedContent',
  'redactedData',
  'signature',
  'thoughtSignature',
  'thought_signature',
]);

/** Counts the prompt for the provider that needs the most. */
export function promptOf(
  { candidates }: Pick<ModelTarget, 'candidates'>,
  request: ModelRequest,
  relay: Relay | undefined,
): number {
  const counter = tokenCounter(candidates);
  const own = candidates.find(
    ({ provider }) => relay?.accepts(provider.config.type) === true && provider.relay !== undefined,
  );
  const more = relay && own ? unconverted(relay.body(own.model, undefined), request, counter) : 0;
  return counter.prompt(request) + more;
}

/** Counts the part of the client's own request that the converted request does not have, by its length. */
function unconverted(body: unknown, request: ModelRequest, counter: TokenCounter): number {
  const text = JSON.stringify(body, withoutEncrypted) ?? '';
  const converted = JSON.stringify(request, withoutEncrypted).length;
  const chars = text.length * (1 - SHORT_PART) - converted - SHORT_FIELDS;
  return chars <= 0 ? 0 : Math.ceil((counter.text(text) * chars) / text.length);
}

function withoutEncrypted(name: string, value: unknown): unknown {
  return typeof value === 'string' && ENCRYPTED.has(name) ? undefined : value;
}
