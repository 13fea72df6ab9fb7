/** The token counts in OpenAI's APIs. The chat API and the Responses API have different names for input and output. */
import { defined } from '../../../base/index.ts';
import type { Usage } from '../../../agent/index.ts';
import { countIn, fieldIn } from '../vendor-api/answer.ts';

interface Names {
  readonly input: string;
  readonly output: string;
}
export const CHAT: Names = { input: 'prompt', output: 'completion' };
export const RESPONSES: Names = { input: 'input', output: 'output' };

export function usageFields(used: Usage, { input, output }: Names) {
  const { inputTokens, outputTokens, cachedTokens = 0, thoughtTokens = 0 } = used;
  return {
    [`${input}_tokens`]: inputTokens,
    [`${output}_tokens`]: outputTokens,
    total_tokens: inputTokens + outputTokens,
    [`${input}_tokens_details`]: { cached_tokens: cachedTokens },
    [`${output}_tokens_details`]: { reasoning_tokens: thoughtTokens },
  };
}

/** Reads the token counts in a vendor's answer. Leaves out counts that are missing or invalid. */
export function countsIn(usage: unknown, { input, output }: Names): Partial<Usage> {
  return defined({
    inputTokens: countIn(usage, `${input}_tokens`),
    outputTokens: countIn(usage, `${output}_tokens`),
    cachedTokens: countIn(fieldIn(usage, `${input}_tokens_details`), 'cached_tokens'),
    thoughtTokens: countIn(fieldIn(usage, `${output}_tokens_details`), 'reasoning_tokens'),
  });
}
