/**
 * Inserts the typed arguments into the text of a command file. The arguments replace `$ARGUMENTS` or `{{args}}`, or are
 * appended. `!{git diff}` is a command line, and the model gets its output. Arguments in a command line are quoted as
 * one word, so that they cannot add commands. `checkTemplate` refuses a placeholder at a place where the quotes would
 * not prevent this.
 */
import { oneLine, shorten, singleQuoted } from '../../base/index.ts';
import { FileError } from '../files/file-error.ts';
import { PLACEHOLDER, takesArguments } from './placeholder.ts';

export interface Filled {
  readonly text: string;
  /** The command lines to run, in order. */
  readonly shell: readonly string[];
}

type Piece = { readonly kind: 'text' | 'shell'; readonly source: string };

/** Throws a FileError if a placeholder in a command line is inside quotes, or at another place that is not safe. */
export function checkTemplate(file: string, body: string): void {
  for (const { kind, source } of piecesOf(body)) {
    if (kind === 'text' || takesArguments(source)) continue;
    const [placeholder = ''] = source.match(PLACEHOLDER) ?? [];
    throw new FileError(
      'failed',
      `${file} has ${placeholder} in !{${shorten(oneLine(source), 80)}} where the arguments could run commands: write ` +
        'it outside of quotes, as in !{grep {{args}} src}; it cannot be in backticks, brackets, arithmetic, comments ' +
        'or here-documents; it cannot follow text that parley cannot check, such as "$(…)", ${x:-y} or [[ … ]]',
    );
  }
}

/** Returns the body with the typed arguments. The body must have passed `checkTemplate`. */
export function fillTemplate(body: string, typed: string): Filled {
  const shell: string[] = [];
  const texts = piecesOf(body).map(({ kind, source }) => {
    if (kind === 'text') return replaced(source, typed);
    const line = replaced(source, typed === '' ? '' : singleQuoted(typed)).trim();
    if (!shell.includes(line)) shell.push(line);
    return `(see the result of \`${line}\`)`;
  });
  const isTaken = body.search(PLACEHOLDER) !== -1;
  const text = texts.join('');
  return { text: isTaken || typed === '' ? text : `${text}\n\n${typed}`, shell };
}

/**
 * Replaces the placeholders in one pass, so that the typed text is not searched for placeholders. The replacement is a
 * function, so that `$` in the typed text is not special.
 */
function replaced(source: string, typed: string): string {
  return source.replaceAll(PLACEHOLDER, () => typed);
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

/**
 * Returns the position of the brace that closes the brace at `open`, or undefined if there is none. Nested pairs are
 * counted, so that a command may contain braces.
 */
function closing(body: string, open: number): number | undefined {
  let depth = 0;
  for (let at = open; at < body.length; at += 1) {
    if (body[at] === '{') depth += 1;
    else if (body[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
