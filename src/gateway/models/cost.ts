/** What an answer took: the vendor's count where there is one, and its price by the card. */
import type { Usage } from '../../agent/index.ts';
import type { Pricing } from '../cards/schema.ts';
import type { Money } from '../budgets/spending.ts';
import type { Candidate } from './catalogue.ts';

/** As a task's message says it. */
export interface Used extends Usage {
  /** The vendor did not count, so the tokens are guessed from the length of the texts. */
  readonly estimated?: true;
  readonly cost?: Money;
  readonly provider: string;
  readonly model: string;
}

/** Far below the price of a token; what is beyond is noise of the arithmetic. */
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
