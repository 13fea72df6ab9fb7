/**
 * Counts the tokens of a prompt or an answer without the vendor's tokenizer. Budgets are reserved with this count, and
 * it is used if a vendor reports no usage. It is close for text and code in English, and rather too high than too low
 * elsewhere.
 *
 *   tokenCounter(target.candidates).prompt({ messages: [userContent('Hello')] });
 */
import type { ContentPart, ModelRequest } from '../../agent/index.ts';
import type { ProviderConfig } from './config.ts';

type Vendor = ProviderConfig['type'];

/** How many more tokens than our count a vendor's tokenizer needs. */
const FACTORS: Readonly<Record<Vendor, number>> = {
  openai: 1.1,
  'openai-compatible': 1.2,
  google: 1.15,
  anthropic: 1.4,
  offline: 1,
  scripted: 1,
};
/** The tokens around each message, and around the whole prompt. */
const PER_MESSAGE = 5;
const PER_PROMPT = 8;
/** The tokens around each declaration of a tool, and the instructions that vendors add if there are tools. */
const PER_TOOL = 16;
const WITH_TOOLS = 350;
/** The most that an image takes. */
const PER_IMAGE = 1700;
/** Characters of base64 per token of other files: sound, video and documents. */
const FILE_CHARS_PER_TOKEN = 64;

/** The fields with text in the answers of all vendors. */
const ANSWER_TEXT =
  /"(?:text|content|delta|partial_json|thinking|arguments|reasoning|reasoning_content)":\s?"((?:[^"\\]|\\.)*)"/g;

const LETTERS_IN_SHORT_WORD = 7;
const LETTERS_PER_TOKEN = 4;

/** Counts tokens for the vendor that needs the most. */
export interface TokenCounter {
  /** Counts a whole request. */
  readonly prompt: (request: ModelRequest) => number;
  /** Counts a piece of an answer. The result is not rounded, so that many small pieces add up to the right number. */
  readonly text: (text: string) => number;
  /** Counts the texts in a piece of an answer in a vendor's own format. */
  readonly raw: (json: string) => number;
}

/** Returns a counter for the vendors of a model's candidates. */
export function tokenCounter(
  candidates: readonly { readonly provider: { readonly config: Pick<ProviderConfig, 'type'> } }[],
): TokenCounter {
  const factor = Math.max(1, ...candidates.map(({ provider }) => FACTORS[provider.config.type]));
  return {
    prompt: (request) => Math.ceil(countRequest(request) * factor),
    text: (text) => rawCount(text) * factor,
    raw(json) {
      let tokens = 0;
      for (const [, text = ''] of json.matchAll(ANSWER_TEXT)) tokens += rawCount(text);
      return tokens * factor;
    },
  };
}

function countRequest({ system = '', messages, tools = [], outputSchema }: ModelRequest): number {
  let tokens = PER_PROMPT;
  if (system !== '') tokens += PER_MESSAGE + rawCount(system);
  for (const { parts } of messages) {
    tokens += PER_MESSAGE;
    for (const part of parts) tokens += countPart(part);
  }
  if (tools.length > 0) tokens += WITH_TOOLS;
  for (const tool of tools) tokens += PER_TOOL + rawCount(JSON.stringify(tool));
  if (outputSchema) tokens += rawCount(JSON.stringify(outputSchema));
  return tokens;
}

function countPart(part: ContentPart): number {
  switch (part.kind) {
    case 'text':
    case 'thought':
      return rawCount(part.text);
    case 'blob':
      return countFile(part.mediaType, part.data.length);
    case 'file':
      return PER_IMAGE;
    case 'function-response': {
      const { response, parts = [] } = part;
      const text = typeof response === 'string' ? response : JSON.stringify(response);
      return parts.reduce((sum, each) => sum + countPart(each), PER_MESSAGE + rawCount(text));
    }
    default:
      return PER_MESSAGE + rawCount(JSON.stringify(part));
  }
}

function countFile(mediaType: string, chars: number): number {
  if (mediaType.startsWith('image/')) return PER_IMAGE;
  return Math.max(PER_IMAGE, Math.ceil(chars / FILE_CHARS_PER_TOKEN));
}

/**
 * Counts a text as tokenizers split it: a short word with the space before it is one token, digits come in groups,
 * punctuation characters stand alone, and other scripts need about one token per character.
 */
function rawCount(text: string): number {
  let tokens = 0;
  let word = 0;
  let digits = 0;
  let spaces = 0;
  const endWord = () => {
    if (word > 0) tokens += word <= LETTERS_IN_SHORT_WORD ? 1 : Math.ceil(word / LETTERS_PER_TOKEN);
    word = 0;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const lower = code >= 97 && code <= 122;
    const upper = code >= 65 && code <= 90;
    if (lower || upper) {
      // A capital letter begins a new word in identifiers. A run of capitals is split into short pieces.
      if (upper && word > 1) endWord();
      word++;
    } else {
      endWord();
    }
    digits = code >= 48 && code <= 57 ? digits + 1 : 0;
    if (digits % 2 === 1) tokens++;
    const space = code === 32;
    // A single space belongs to the next word. A long run of spaces is one token for every four of them.
    if (space && ++spaces % 4 === 2) tokens++;
    if (!space) spaces = 0;
    if (lower || upper || digits > 0 || space) continue;
    tokens++;
  }
  endWord();
  return tokens;
}
