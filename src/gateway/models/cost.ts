/** Computes the cost of an answer from its tokens and the model's price. */
import type { Usage } from '../../agent/index.ts';
import type { Pricing } from '../cards/schema.ts';
import type { Money } from '../budgets/calls.ts';
import type { Candidate } from './catalogue.ts';

/**
 * The usage of an answer, with its cost if the model has a price. The last message of a completed task contains this
 * object in its metadata, as `usage`.
 */
export interface Used extends Usage {
  /** True if token counts were estimated, because the vendor did not report the complete usage. */
  readonly estimated?: true;
  readonly cost?: Money;
  readonly provider: string;
  readonly model: string;
}

/**
 * Number of decimal places to which an amount is rounded. This removes floating-point errors, which are much smaller
 * than the price of a token.
 */
const DECIMALS = 12;

export function usedAt(
  { provider, model }: Candidate,
  usage: Usage & { readonly estimated?: true },
  pricing: Pricing | undefined,
): Used {
  const cost = pricing && { amount: amountOf(usage, pricing), currency: pricing.currency };
  return { ...usage, ...(cost && { cost }), provider: provider.name, model };
}

function amountOf(
  { inputTokens, outputTokens, cachedTokens = 0 }: Usage,
  pricing: Pricing,
): number {
  const { inputPricePerToken: input, cachedInputPricePerToken: cached = input } = pricing;
  const fromCache = Math.min(cachedTokens, inputTokens);
  const amount =
    (inputTokens - fromCache) * input +
    fromCache * cached +
    outputTokens * pricing.outputPricePerToken;
  return Number(amount.toFixed(DECIMALS));
}
