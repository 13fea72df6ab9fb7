/**
 * The requests that the offline model understands, and the tool for each request. The requests are plain English with
 * some variation.
 *
 * Quoted text is used literally.
 */
import type { JsonObject } from '../../base/index.ts';

/** The tool call for one request, and the report about the call. */
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
  /** The groups of a pattern are the operands. The first pattern that matches is used. */
  readonly patterns: readonly RegExp[];
  /** The names of the tool's arguments, in the order of the operands. Only the last operand may be missing. */
  readonly args: readonly string[];
  readonly done: (...operands: string[]) => string;
  readonly shows: boolean;
}

const FILLER = String.raw`(?:(?:me|the|a|an|all|new|text|file|files|folder|directory|contents?|of|in|called|named)\s+)*`;
/** One word, or one quoted text. */
const WORD = String.raw`(\S+)`;
/**
 * Any text, matched greedily (TEXT) or lazily (SHORT_TEXT). The text must not begin or end with a space. If it could,
 * the patterns would be ambiguous and slow.
 */
const TEXT = String.raw`(\S(?:.*\S)?)`;
const SHORT_TEXT = String.raw`(\S(?:.*?\S)?)`;
const IN_FILE = String.raw`in\s+(?:the\s+)?(?:file\s+)?`;

/** Makes the pattern for a whole request, which may have any case and several lines. */
function request(text: TemplateStringsArray, ...parts: string[]): RegExp {
  return new RegExp(`^${String.raw(text, ...parts)}$`, 'is');
}

export const FORMS: readonly Form[] = [
  {
    usage: 'list [DIR]',
    tool: 'list_directory',
    patterns: [request`(?:list|ls)(?:\s+${FILLER}(?:files|folder|directory|${WORD}))?`],
    args: ['path'],
    done: (dir = 'this folder') => `Content of ${dir}:`,
    shows: true,
  },
  {
    usage: 'fetch URL',
    tool: 'fetch_url',
    patterns: [
      request`(?:fetch|download|open|get)\s+(?:the\s+)?(?:page\s+|url\s+)?(https?:\/\/\S+)`,
    ],
    args: ['url'],
    done: (url) => `Content of ${url}:`,
    shows: true,
  },
  {
    usage: 'read FILE',
    tool: 'read_file',
    patterns: [request`(?:read|cat|show)\s+${FILLER}${WORD}`],
    args: ['path'],
    done: (file) => `Content of ${file}:`,
    shows: true,
  },
  {
    usage: 'search TEXT [in DIR]',
    tool: 'search',
    patterns: [
      request`(?:search|grep|find)\s+(?:for\s+)?${SHORT_TEXT}\s+(?:in|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?${WORD}`,
      request`(?:search|grep|find)\s+(?:for\s+)?${TEXT}`,
    ],
    args: ['pattern', 'path'],
    done: (text) => `Results of the search for "${text}":`,
    shows: true,
  },
  {
    usage: 'create FILE with TEXT',
    tool: 'write_file',
    patterns: [
      request`(?:create|write|make)\s+${FILLER}${WORD}\s+(?:with|containing|that says)(?:\s+the)?(?:\s+(?:contents?|text))?:?\s+${TEXT}`,
    ],
    args: ['path', 'content'],
    done: (file) => `I wrote ${file}.`,
    shows: false,
  },
  {
    usage: 'replace A with B in FILE',
    tool: 'edit',
    patterns: [
      request`replace(?=.*\s${IN_FILE}\S+$)\s+(?:the\s+(?:text|word)\s+)?${SHORT_TEXT}\s+(?:with|by)\s+${TEXT}\s+${IN_FILE}${WORD}`,
    ],
    args: ['old', 'new', 'path'],
    done: (before, after, file) => `I replaced "${before}" with "${after}" in ${file}.`,
    shows: false,
  },
  {
    usage: 'run COMMAND',
    tool: 'run_shell_command',
    patterns: [request`(?:run|execute)\s+(?:the\s+)?(?:shell\s+)?(?:command\s*:?\s+)?${TEXT}`],
    args: ['command'],
    done: (command) => `I ran \`${command}\`:`,
    shows: true,
  },
  {
    usage: 'remember TEXT',
    tool: 'save_memory',
    patterns: [request`remember\s+(?:that\s+)?${TEXT}`],
    args: ['text'],
    done: (text) => `I will remember: ${text}`,
    shows: false,
  },
];

/** Returns the step for this request, or undefined if the request matches no form. */
export function parseForm(said: string): Step | undefined {
  const { masked, restore } = maskQuotes(said);
  for (const { tool, patterns, args: names, done, shows } of FORMS) {
    const groups = patterns.map((pattern) => pattern.exec(masked)).find((match) => match !== null);
    if (!groups) continue;
    const given = groups.slice(1).filter((group) => group !== undefined);
    const operands = given.map((group) => operand(group, restore));
    const args = Object.fromEntries(operands.map((value, at) => [names[at] ?? '', value]));
    return { tool, args, done: done(...operands), shows };
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

/** Removes the quotes if the whole text is quoted. */
function operand(masked: string, restore: (text: string) => string): string {
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
