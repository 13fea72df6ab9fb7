import type { JsonObject } from '../../base/index.ts';
/**
 * What the offline model understands: plain requests in English, with some slack, and which tool each of them means.
 *
 * Text in quotes is taken as it is, and nothing in it is looked at.
 */

/** A request that is one call of a tool. */
export interface Step {
  readonly tool: string;
  readonly args: JsonObject;
  /** What was done, when it was: `I wrote a.txt.` */
  readonly done: string;
  /** What came back belongs to the answer. */
  readonly shows: boolean;
}

interface Form {
  /** How to say it. */
  readonly usage: string;
  readonly tool: string;
  readonly parse: (said: string) => Omit<Step, 'tool'> | undefined;
}

const FILLER = String.raw`(?:(?:me|the|a|an|all|new|text|file|files|folder|directory|contents?|of|in|called|named)\s+)*`;
/** One word, or one quoted text. */
const WORD = String.raw`(\S+)`;
/** Any text, as far as it goes or no further than it must. None begins or ends with space: that would be ambiguous, and slow. */
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
      done: `In ${dir ?? 'this folder'} there is:`,
      shows: true,
    }),
  ),
  form(
    'fetch URL',
    'fetch_url',
    [String.raw`(?:fetch|download|open|get)\s+(?:the\s+)?(?:page\s+|url\s+)?(https?:\/\/\S+)`],
    ([url = '']) => ({
      args: { url },
      done: `${url} says:`,
      shows: true,
    }),
  ),
  form(
    'read FILE',
    'read_file',
    [String.raw`(?:read|cat|show)\s+${FILLER}${WORD}`],
    ([file = '']) => ({
      args: { path: file },
      done: `${file} says:`,
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
      done: `Searching for "${text}" found:`,
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

/** The step that this request is, if it is one of the forms. */
export function parseForm(said: string): Step | undefined {
  for (const { tool, parse } of FORMS) {
    const step = parse(said);
    if (step !== undefined) return { tool, ...step };
  }
  return undefined;
}

/**
 * The requests in a text, one after the other. `then` joins two of them only where a request follows: it may as well
 * be a word of a text to be written.
 */
export function splitRequests(text: string, isRequest: (said: string) => boolean): string[] {
  const { masked, restore } = maskQuotes(text);
  const [first = '', ...pieces] = masked.split(JOINT);
  const found = [first];
  for (let index = 0; index < pieces.length; index += 2) {
    const [joint = '', piece = ''] = pieces.slice(index, index + 2);
    if (isRequest(polite(restore(piece)))) found.push(piece);
    else found.push(`${found.pop()}${joint}${piece}`);
  }
  return found.map((piece) => polite(restore(piece)));
}

const JOINT = /((?<!\s)(?:\s*[,;.])?\s+(?:and\s+)?then\s*,?\s+)/i;

/** Without the words that only make it friendlier, and without the full stop. */
function polite(said: string): string {
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

/** A text that is quoted as a whole loses its quotes. */
function operand(
  masked: string | undefined,
  restore: (text: string) => string,
): string | undefined {
  if (masked === undefined) return undefined;
  const text = restore(masked.trim());
  return /^\0\d+\0$/.test(masked.trim()) ? text.slice(1, -1) : text;
}

const QUOTED = /"[^"]*"|`[^`]*`|“[^”]*”|(?<=^|\s)'[^']*'(?=$|[\s.,;!?])/g;

/** Each quoted text stands as one word, in which no pattern finds anything. */
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
