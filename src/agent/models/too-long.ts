/**
 * Recognizes errors about a conversation that is too long, and reads the size of the context window from them. Servers
 * of open models rarely publish the size, but most of them name it in this error.
 */

/** The values of `code` and `type` that identify the error. The first one is OpenAI's, the second one llama.cpp's. */
export const CONTEXT_CODES: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
]);

const TOO_LONG =
  /context.?(length|window|size|limit)|prompt is too long|input is too long|too many (input )?tokens|input token count|maximum.{0,30}tokens|maximum (model|prompt) length|max_new_tokens.{0,20}must be/i;

const NUMBER = String.raw`(\d{3,9}|\d{1,3}(?:[,_]\d{3}){1,2})`;
/** Patterns for texts that contain the size. Each pattern has one group, which matches the size. */
const SIZES: readonly RegExp[] = [
  // llama.cpp and LM Studio
  String.raw`\bn_ctx"?\s*[:=]\s*${NUMBER}`,
  String.raw`available context size \(${NUMBER} tokens`,
  String.raw`context length of only ${NUMBER}`,
  // Anthropic: "210000 tokens > 200000 maximum", and "198000 + 20000 > 200000"
  String.raw`> ${NUMBER}\b`,
  // OpenAI, vLLM, OpenRouter, DeepSeek, xAI, SGLang
  String.raw`(?:context|model|prompt) (?:length|window|size|limit)(?: of| is|:)? \(?${NUMBER}`,
  // Mistral
  String.raw`${NUMBER} maximum context length`,
  // Google
  String.raw`maximum number of (?:input )?tokens(?: allowed)? (?:\(|is |of )?${NUMBER}`,
  // Text Generation Inference
  String.raw`must be <= ${NUMBER}`,
].map((pattern) => new RegExp(pattern, 'i'));

/** The limits of a plausible size. A number outside these limits is not the size of a context window. */
const MIN_TOKENS = 256;
const MAX_TOKENS = 100_000_000;

export function saysTooLong(message: string): boolean {
  return TOO_LONG.test(message);
}

/** Returns the size of the context window that an error message names, or undefined if it names none. */
export function contextWindowIn(message: string): number | undefined {
  for (const pattern of SIZES) {
    const found = pattern.exec(message)?.[1];
    const tokens = found === undefined ? Number.NaN : Number(found.replaceAll(/[,_]/g, ''));
    if (isWindow(tokens)) return tokens;
  }
  return undefined;
}

/** Returns whether a number can be the size of a context window. */
export function isWindow(tokens: unknown): tokens is number {
  return (
    Number.isSafeInteger(tokens) && Number(tokens) >= MIN_TOKENS && Number(tokens) <= MAX_TOKENS
  );
}
