/**
 * The requests that the offline model understands, and the tool for each request. The requests are plain English with
 * some variation.
 *
 * Quoted text is used literally.
 */
import type { JsonObject } from '../../base/index.ts';

/** A request that stands for one tool call. */
export interface Step {
  readonly tool: string;
  readonly args: JsonObject;
  /** The report after success, for example `I wrote a.txt.` */
  readonly done: string;
  /** Whether the report includes the tool's response. */
  readonly shows: boolean;
}

interface Form {
  /** The syntax of the request, for the help text. */
  readonly usage: string;
  readonly tool: string;
  readonly parse: (said: string) => Omit<Step, 'tool'> | undefined;
}

const FILLER = String.raw`(?:(?:me|the|a|an|all|new|text|file|files|folder|directory|contents?|of|in|called|named)\s+)*`;
/** One word, or one quoted text. */
const WORD = String.raw`(\S+)`;
/**
 * Any text, matched greedily (TEXT) or lazily (SHORT_TEXT). It neither begins nor ends with a space, because otherwise
 * the patterns would be ambiguous and slow.
 */
const TEXT = String.raw`(\S(?:.*\S)?)`;
const SHORT_TEXT = String.raw`(\S(?:.*?\S)?)`;
const IN_FILE = String.raw`in\s+(?:the\s+)?(?:file\s+)?`;

export const FORMS: readonly Form[] = [
  form(
    'list [DIR]',
    'list_directory',
    [String.raw`(?:list|ls)(?:\s+${FILLER}(?:files|folder|directory|${WORD}))?`],
    ([dir]) => ({
      args: { ...(dir !== undefined && { path: dir }) },
      done: `Content of ${dir ?? 'this folder'}:`,
      shows: true,
    }),
  ),
  form(
    'fetch URL',
    'fetch_url',
    [String.raw`(?:fetch|download|open|get)\s+(?:the\s+)?(?:page\s+|url\s+)?(https?:\/\/\S+)`],
    ([url = '']) => ({
      args: { url },
      done: `Content of ${url}:`,
      shows: true,
    }),
  ),
  form(
    'read FILE',
    'read_file',
    [String.raw`(?:read|cat|show)\s+${FILLER}${WORD}`],
    ([file = '']) => ({
      args: { path: file },
      done: `Content of ${file}:`,
      shows: true,
    }),
  ),
  form(
    'search TEXT [in DIR]',
    'search',
    [
      String.raw`(?:search|grep|find)\s+(?:for\s+)?${SHORT_TEXT}\s+(?:in|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?${WORD}`,
      String.raw`(?:search|grep|find)\s+(?:for\s+)?${TEXT}`,
    ],
    ([text = '', dir]) => ({
      args: { pattern: text, ...(dir !== undefined && { path: dir }) },
      done: `Results of the search for "${text}":`,
      shows: true,
    }),
  ),
  form(
    'create FILE with TEXT',
    'write_file',
    [
      String.raw`(?:create|write|make)\s+${FILLER}${WORD}\s+(?:with|containing|that says)(?:\s+the)?(?:\s+(?:contents?|text))?:?\s+${TEXT}`,
    ],
    ([file = '', text = '']) => ({
      args: { path: file, content: text },
      done: `I wrote ${file}.`,
      shows: false,
    }),
  ),
  form(
    'replace A with B in FILE',
    'edit',
    [
      String.raw`replace(?=.*\s${IN_FILE}\S+$)\s+(?:the\s+(?:text|word)\s+)?${SHORT_TEXT}\s+(?:with|by)\s+${TEXT}\s+${IN_FILE}${WORD}`,
    ],
    ([before = '', after = '', file = '']) => ({
      args: { path: file, old: before, new: after },
      done: `I replaced "${before}" with "${after}" in ${file}.`,
      shows: false,
    }),
  ),
  form(
    'run COMMAND',
    'run_shell_command',
    [String.raw`(?:run|execute)\s+(?:the\s+)?(?:shell\s+)?(?:command\s*:?\s+)?${TEXT}`],
    ([command = '']) => ({
      args: { command },
      done: `I ran \`${command}\`:`,
      shows: true,
    }),
  ),
  form(
    'remember TEXT',
    'save_memory',
    [String.raw`remember\s+(?:that\s+)?${TEXT}`],
    ([text = '']) => ({
      args: { text },
      done: `I will remember: ${text}`,
      shows: false,
    }),
  ),
];

/** Returns the step for this request, or undefined if the request matches no form. */
export function parseForm(said: string): Step | undefined {
  for (const { tool, parse } of FORMS) {
    const step = parse(said);
    if (step !== undefined) return { tool, ...step };
  }
  return undefined;
}

/**
 * Splits a text into requests. The word `then` separates two requests only if the text after it is a request.
 */
export function splitRequests(text: string, isRequest: (said: string) => boolean): string[] {
  const { masked, restore } = maskQuotes(text);
  const [first = '', ...pieces] = masked.split(JOINT);
  const found = [first];
  for (let index = 0; index < pieces.length; index += 2) {
    const [joint = '', piece = ''] = pieces.slice(index, index + 2);
    if (isRequest(withoutPoliteness(restore(piece)))) found.push(piece);
    else found.push(`${found.pop()}${joint}${piece}`);
  }
  return found.map((piece) => withoutPoliteness(restore(piece)));
}

const JOINT = /((?<!\s)(?:\s*[,;.])?\s+(?:and\s+)?then\s*,?\s+)/i;

/** Removes polite words and the final punctuation. */
function withoutPoliteness(said: string): string {
  return said
    .trim()
    .replace(
      /^(?:(?:please|kindly|now|first|hi|hello|hey|(?:can|could|would|will) you)\b[,!]?\s*)+/i,
      '',
    )
    .replace(/(?<![,\s])[,\s]+please\s*([.!?]*)$/i, '$1')
    .replace(/(?<=[^\s.!?])[.!?]+$/, '');
}

function form(
  usage: string,
  tool: string,
  patterns: readonly string[],
  step: (operands: readonly (string | undefined)[]) => Omit<Step, 'tool'>,
): Form {
  const expressions = patterns.map((pattern) => new RegExp(`^${pattern}$`, 'is'));
  return {
    usage,
    tool,
    parse(said) {
      const { masked, restore } = maskQuotes(said);
      for (const expression of expressions) {
        const match = expression.exec(masked);
        if (match !== null) return step(match.slice(1).map((each) => operand(each, restore)));
      }
      return undefined;
    },
  };
}

/** Removes the quotes if the whole text is quoted. */
function operand(
  masked: string | undefined,
  restore: (text: string) => string,
): string | undefined {
  if (masked === undefined) return undefined;
  const text = restore(masked.trim());
  return /^\0\d+\0$/.test(masked.trim()) ? text.slice(1, -1) : text;
}

const QUOTED = /"[^"]*"|`[^`]*`|“[^“”]*”|(?<=^|\s)'[^']*'(?=$|[\s.,;!?])/g;

/** Replaces each quoted text with one placeholder, so that no pattern matches inside a quoted text. */
function maskQuotes(text: string): { masked: string; restore: (text: string) => string } {
  const quoted: string[] = [];
  const masked = text
    .replaceAll('\0', '')
    .replaceAll(QUOTED, (whole) => `\0${quoted.push(whole) - 1}\0`);
  return {
    masked,
    restore: (piece) => piece.replaceAll(/\0(\d+)\0/g, (_, index) => quoted[Number(index)] ?? ''),
  };
}
