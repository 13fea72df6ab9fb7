/**
 * Whether a rule's pattern is about a simple command. A pattern is the words with which a command begins:
 *
 *   git status        git status, git status --short
 *   npm run * $       npm run and one more word, no more than that
 *   rm                every rm
 *
 * `*` is any one word, `$` at the end means that no more words follow. To allow, a rule must fit exactly: the very
 * words, nothing assigned. To forbid or to ask it need only be likely: the program by any path, the words in this order
 * with others (options, mostly) between them; where an expansion hides a word the answer is "maybe".
 */
import { parseWords } from './parse.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

export interface Pattern {
  readonly words: readonly Word[];
  readonly exact: boolean;
}

/** Undefined: it is no pattern. */
export function parsePattern(text: string): Pattern | undefined {
  const all = parseWords(text);
  if (!all) return undefined;
  const exact = all.length > 1 && all.at(-1)?.text === '$';
  const words = exact ? all.slice(0, -1) : all;
  return words.every((word) => word.literal || isAny(word)) ? { words, exact } : undefined;
}

function isAny(word: Word): boolean {
  return !word.literal && word.text === '*';
}

/** Whether the pattern covers this command, beyond doubt. */
export function covers({ words, exact }: Pattern, command: SimpleCommand): boolean {
  if (command.assigns) return false;
  if (exact && command.words.length !== words.length) return false;
  return words.every((word, index) => {
    const actual = command.words[index];
    return actual?.literal === true && (isAny(word) || actual.text === word.text);
  });
}

/** Whether this command may be one that the pattern means. */
export function concerns(
  { words, exact }: Pattern,
  command: SimpleCommand,
): 'yes' | 'maybe' | 'no' {
  const [program, ...rest] = command.words;
  const [name, ...wanted] = words;
  if (!program) return 'no';
  if (!program.literal) return 'maybe';
  if (base(program.text) !== base(name!.text)) return 'no';
  if (exact && rest.length !== wanted.length && rest.every((word) => word.literal)) return 'no';
  let next = 0;
  for (const word of rest) {
    if (next === wanted.length) break;
    if (!word.literal) return 'maybe';
    if (isAny(wanted[next]!) || wanted[next]!.text === word.text) next++;
  }
  return next === wanted.length ? 'yes' : 'no';
}

/** Some file systems do not tell upper case from lower. */
function base(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1).toLowerCase();
}

/** The pattern that covers this command and no other; undefined when there is none. */
export function exactPattern({ words, assigns }: SimpleCommand): string | undefined {
  if (assigns || words.length === 0 || !words.every((word) => word.literal)) return undefined;
  return [...words.map((word) => quoted(word.text)), '$'].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
