/**
 * Matches the pattern of a policy rule against a simple command. A pattern is the first words of a command:
 *
 *   git status        git status, git status --short
 *   npm run * $       npm run with exactly one more word
 *   rm                every rm
 *
 * `*` matches any one word. `$` at the end means that no more words follow. To allow a command, a pattern must match
 * exactly: the same words, and no assigned variables. To deny or to ask, a looser match is enough: the program under any
 * path, and the words in this order with other words between them. If an expansion hides a word, the answer is "maybe".
 */
import { parseWords } from './parse.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

export interface Pattern {
  readonly words: readonly Word[];
  readonly exact: boolean;
}

/** Parses a pattern; undefined if it is invalid. */
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

/** Whether the pattern certainly matches this command. */
export function covers({ words, exact }: Pattern, command: SimpleCommand): boolean {
  if (command.assigns) return false;
  if (exact && command.words.length !== words.length) return false;
  return words.every((word, index) => {
    const actual = command.words[index];
    return actual?.literal === true && (isAny(word) || actual.text === word.text);
  });
}

/** Whether the pattern may match this command. */
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

/** In lower case, because some file systems ignore case. */
function base(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1).toLowerCase();
}

/** The pattern that matches only this command; undefined if there is none. */
export function exactPattern({ words, assigns }: SimpleCommand): string | undefined {
  if (assigns || words.length === 0 || !words.every((word) => word.literal)) return undefined;
  return [...words.map((word) => quoted(word.text)), '$'].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
