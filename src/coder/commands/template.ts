/**
 * The text of a command's file with what was typed behind the command in it: in the place of `$ARGUMENTS` or
 * `{{args}}`, else at the end. `!{git diff}` is a command line whose output the model is to see; what was typed goes
 * into it as one quoted word, so that it can be no more than that.
 */

export interface Filled {
  readonly text: string;
  /** Command lines, in their order. */
  readonly shell: readonly string[];
}

const PLACEHOLDER = /\$ARGUMENTS\b|\{\{\s*args\s*\}\}/g;

type Piece = { readonly kind: 'text' | 'shell'; readonly source: string };

export function fillTemplate(body: string, typed: string): Filled {
  const shell: string[] = [];
  const texts = piecesOf(body).map(({ kind, source }) => {
    if (kind === 'text') return replaced(source, typed);
    const line = replaced(source, typed === '' ? '' : quoted(typed)).trim();
    if (!shell.includes(line)) shell.push(line);
    return `(what \`${line}\` prints: see its result)`;
  });
  const isTaken = body.search(PLACEHOLDER) !== -1;
  const text = texts.join('');
  return { text: isTaken || typed === '' ? text : `${text}\n\n${typed}`, shell };
}

/** In one pass and by a function: what was typed is neither searched nor has it special signs. */
function replaced(source: string, typed: string): string {
  return source.replaceAll(PLACEHOLDER, () => typed);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function piecesOf(body: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  for (;;) {
    const open = body.indexOf('!{', start);
    const close = open === -1 ? undefined : closing(body, open + 1);
    if (close === undefined) return [...pieces, { kind: 'text', source: body.slice(start) }];
    pieces.push({ kind: 'text', source: body.slice(start, open) });
    const source = body.slice(open + 2, close);
    if (source.trim() !== '') pieces.push({ kind: 'shell', source });
    start = close + 1;
  }
}

/** Where the brace at `open` closes; braces in between are counted, so a command may have them in pairs. */
function closing(body: string, open: number): number | undefined {
  let depth = 0;
  for (let at = open; at < body.length; at += 1) {
    if (body[at] === '{') depth += 1;
    else if (body[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
