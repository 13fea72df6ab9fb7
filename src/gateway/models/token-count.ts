/**
 * Counts the tokens of a prompt or an answer without the vendor's tokenizer. The count is used to reserve usage in
 * budgets, to check the context window, and as the usage if a vendor reports none. The count is fairly accurate for
 * English text and code. For other content, it is usually too high.
 *
 *   tokenCounter(target.candidates).prompt({ messages: [userContent('Hello')] });
 */
import type { BlobPart, ContentPart, ModelRequest } from '../../agent/index.ts';
import type { ProviderConfig } from './config.ts';
import { isTextFile } from './limits.ts';

type Vendor = ProviderConfig['type'];

interface Tokenizer {
  /** Ratio of the vendor's token count to our count. */
  readonly factor: number;
  readonly digitsPerToken: number;
}

const TOKENIZERS: Readonly<Record<Vendor, Tokenizer>> = {
  openai: { factor: 1.1, digitsPerToken: 2 },
  'openai-compatible': { factor: 1.2, digitsPerToken: 1 },
  google: { factor: 1.15, digitsPerToken: 1 },
  anthropic: { factor: 1.4, digitsPerToken: 2 },
  offline: { factor: 1, digitsPerToken: 2 },
  scripted: { factor: 1, digitsPerToken: 2 },
};
/** Assumed number of tokens that vendors add to each message, and to the whole prompt. */
const PER_MESSAGE = 5;
const PER_PROMPT = 8;
/** Assumed number of tokens that vendors add to each declaration of a tool, and to a prompt with tools. */
const PER_TOOL = 16;
const WITH_TOOLS = 350;
/**
 * Assumed number of tokens of an image, or of a file that is sent as a URL. The number is high, because the size of an
 * image is not known: images are not decoded.
 */
const PER_IMAGE = 1700;
/**
 * Number of base64 characters per token of other files, such as audio, video and documents. Each of these files has at
 * least PER_IMAGE tokens.
 */
const FILE_CHARS_PER_TOKEN = 64;

/** Matches the fields that contain text in the answers of all vendors. */
const ANSWER_TEXT =
  /"(?:text|content|delta|partial_json|thinking|arguments|reasoning|reasoning_content)":\s?"((?:[^"\\]|\\.)*)"/g;

/** Matches events of OpenAI's Responses API that repeat the texts of earlier events (`response.output_text.done`). */
const REPEATED = /"type":\s?"response\.[\w.]+\.done"/;

const LETTERS_IN_SHORT_WORD = 7;
const LETTERS_PER_TOKEN = 4.5;
const SPACES_PER_TOKEN = 16;
/**
 * Number of tokens of a punctuation character that follows another one, as in the `":{"` of JSON. Applies only to the
 * first USUAL_MARKS characters of a run. Each later character is one token.
 */
const NEXT_MARK = 0.25;
const USUAL_MARKS = 4;
const CYRILLIC = 0.5;
/** Number of tokens of each half of a surrogate pair. */
const HALF_EMOJI = 1.5;
/**
 * Minimum length of a run of letters and digits that may be encoded data, such as base64. The run must contain a digit.
 * Encoded data has OPAQUE_TOKENS tokens per character, which is usually more than words have. The run is counted in
 * both ways, and the higher number is used.
 */
const OPAQUE_CHARS = 32;
const OPAQUE_TOKENS = 0.75;

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const MARK = 5;
const OTHER = 6;
const END = 0;
/** The kind of each ASCII character. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code === 32 ? SPACE : MARK;
});

/**
 * Counts tokens for a model. The model's candidates may have different vendors. The count is high enough for all of
 * them.
 */
export interface TokenCounter {
  /** Counts a whole request. */
  readonly prompt: (request: ModelRequest) => number;
  /** Counts a piece of an answer. The result is not rounded, so that many small pieces add up to the right number. */
  readonly text: (text: string) => number;
  /** Counts the texts in a piece of an answer in a vendor's own format. The piece consists of complete events. */
  readonly raw: (json: string) => number;
}

/** Returns a counter for the vendors of a model's candidates. */
export function tokenCounter(
  candidates: readonly { readonly provider: { readonly config: Pick<ProviderConfig, 'type'> } }[],
): TokenCounter {
  const tokenizers = candidates.map(({ provider }) => TOKENIZERS[provider.config.type]);
  const factor = Math.max(1, ...tokenizers.map((each) => each.factor));
  const digitsPerToken = Math.min(2, ...tokenizers.map((each) => each.digitsPerToken));
  const count = (text: string) => rawCount(text, digitsPerToken);
  return {
    prompt: (request) => Math.ceil(countRequest(request, count) * factor),
    text: (text) => count(text) * factor,
    raw(json) {
      let tokens = 0;
      for (const line of json.split('\n')) {
        if (REPEATED.test(line)) continue;
        // This is faster than matchAll, which copies the pattern for each call.
        ANSWER_TEXT.lastIndex = 0;
        for (let found = ANSWER_TEXT.exec(line); found; found = ANSWER_TEXT.exec(line)) {
          tokens += count(found[1] ?? '');
        }
      }
      return tokens * factor;
    },
  };
}

type Count = (text: string) => number;

function countRequest(request: ModelRequest, count: Count): number {
  const { system = '', messages, tools = [], outputSchema } = request;
  let tokens = PER_PROMPT;
  if (system !== '') tokens += PER_MESSAGE + count(system);
  for (const { parts } of messages) {
    tokens += PER_MESSAGE;
    for (const part of parts) tokens += countPart(part, count);
  }
  if (tools.length > 0) tokens += WITH_TOOLS;
  for (const tool of tools) tokens += PER_TOOL + count(JSON.stringify(tool));
  if (outputSchema) tokens += count(JSON.stringify(outputSchema));
  return tokens;
}

function countPart(part: ContentPart, count: Count): number {
  switch (part.kind) {
    case 'text':
    case 'thought':
      return count(part.text);
    case 'blob':
      return count(part.name ?? '') + countFile(part, count);
    case 'file':
      return count(part.name ?? '') + PER_IMAGE;
    case 'function-response': {
      const { response, parts = [] } = part;
      const text = typeof response === 'string' ? response : JSON.stringify(response);
      return parts.reduce((sum, each) => sum + countPart(each, count), PER_MESSAGE + count(text));
    }
    default:
      return PER_MESSAGE + count(JSON.stringify(part));
  }
}

function countFile({ mediaType, data }: BlobPart, count: Count): number {
  if (isTextFile(mediaType)) return PER_MESSAGE + count(Buffer.from(data, 'base64').toString());
  if (mediaType.startsWith('image/')) return PER_IMAGE;
  return Math.max(PER_IMAGE, Math.ceil(data.length / FILE_CHARS_PER_TOKEN));
}

/**
 * Counts a text in the way that tokenizers split it. A short word with the space before it is one token. A long word
 * has several tokens. Adjacent punctuation characters share tokens. Other scripts have up to one token per character,
 * and emoji have more.
 */
function rawCount(text: string, digitsPerToken: number): number {
  let tokens = 0;
  /** The kind of the last character, and the length of the current run of this kind. */
  let last = 0;
  let same = 0;
  /** Number of letters in the current word. */
  let word = 0;
  /**
   * The current run of letters and digits: its length, whether it contains a digit, and the number of tokens before it.
   */
  let run = 0;
  let hasDigit = false;
  let before = 0;
  // The additional step after the last character ends the last word.
  for (let at = 0; at <= text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = at === text.length ? END : (ASCII[code] ?? OTHER);
    const isLetter = kind === LOWER || kind === UPPER;
    // A capital letter begins a new word in identifiers. A run of capitals is split into short pieces.
    if (word > 0 && (!isLetter || (kind === UPPER && word > 1))) {
      tokens += word <= LETTERS_IN_SHORT_WORD ? 1 : word / LETTERS_PER_TOKEN;
      word = 0;
    }
    if (isLetter || kind === DIGIT) {
      if (run++ === 0) before = tokens;
      if (kind === DIGIT) hasDigit = true;
    } else if (run > 0) {
      if (hasDigit && run >= OPAQUE_CHARS) tokens = Math.max(tokens, before + run * OPAQUE_TOKENS);
      run = 0;
      hasDigit = false;
    }
    same = kind === last ? same + 1 : 1;
    last = kind;
    if (isLetter) word++;
    else if (kind === DIGIT) tokens += same % digitsPerToken === 1 % digitsPerToken ? 1 : 0;
    // A single space belongs to the next word. A run of spaces is one token, or more if it is very long.
    else if (kind === SPACE) tokens += same % SPACES_PER_TOKEN === 2 ? 1 : 0;
    else if (kind === MARK) tokens += same > 1 && same <= USUAL_MARKS ? NEXT_MARK : 1;
    else if (kind === OTHER) tokens += otherTokens(code);
  }
  return tokens;
}

/** Returns the number of tokens of a UTF-16 code unit outside ASCII. */
function otherTokens(code: number): number {
  if (code >= 0x400 && code < 0x530) return CYRILLIC;
  return code >= 0xd800 && code < 0xe000 ? HALF_EMOJI : 1;
}
