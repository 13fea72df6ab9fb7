/**
 * Reads the header of a Markdown file, for commands, helpers and skills:
 *
 *   ---
 *   description: Reviews a change
 *   tools: read_file, search
 *   ---
 *   The text of the file.
 *
 * The header is a small part of YAML: one `key: value` per line, lists with `- item` lines, text in quotes, and text
 * that continues on indented lines. Other YAML syntax in a value is treated as plain text.
 */

export interface FrontMatter {
  readonly fields: ReadonlyMap<string, FrontMatterField>;
  /** The text after the header, trimmed. */
  readonly body: string;
}

export interface FrontMatterField {
  /** The value in the line of the key and in its continuation lines, without quotes. */
  readonly text: string;
  /** The items of a list, as they were written. */
  readonly items: readonly string[];
}

const HEADER = /^---[ \t]*\n(?:([^]*?)\n)?---[ \t]*(?:\n|$)/;
/** Matches a value that only announces text on the next lines: `>` or `|`, optionally with `+` or `-`. */
const BLOCK = /^[>|][+-]?$/;

export function parseFrontMatter(source: string): FrontMatter {
  const text = source.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const head = HEADER.exec(text);
  const read = new Map<string, { lines: string[]; items: string[] }>();
  let current: { lines: string[]; items: string[] } | undefined;
  for (const line of head?.[1]?.split('\n') ?? []) {
    const [, key, value = ''] = /^([\w-]+):(.*)$/s.exec(line) ?? [];
    const item = /^\s*-\s(.+)$/s.exec(line)?.[1];
    if (key !== undefined) {
      current = { lines: [BLOCK.test(value.trim()) ? '' : value.trim()], items: [] };
      read.set(key, current);
    } else if (item !== undefined) current?.items.push(item);
    else if (/^\s/.test(line)) current?.lines.push(line.trim());
  }
  const fields = Array.from(read, ([key, { lines, items }]): [string, FrontMatterField] => {
    const joined = lines.filter((line) => line !== '').join(' ');
    return [key, { text: unquoted(joined), items }];
  });
  return { fields: new Map(fields), body: text.slice(head?.[0].length ?? 0).trim() };
}

/** Returns the items of a list, or the parts of a text that are separated by commas. The text may be in brackets. */
export function listIn(field: FrontMatterField | undefined): string[] {
  const { items = [], text = '' } = field ?? {};
  const all = items.length > 0 ? items : text.replace(/^\[(.*)\]$/s, '$1').split(',');
  return all.map(unquoted).filter((item) => item !== '');
}

/**
 * Returns the text without surrounding spaces and quotes. In a text such as `"a", "b"`, the quotes stay, because they
 * do not surround the whole text.
 */
export function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^(["'])((?:(?!\1).)*)\1$/s, '$2')
    .trim();
}
