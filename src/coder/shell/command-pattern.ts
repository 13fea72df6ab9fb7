/**
 * Matches the pattern of a policy rule against a simple command. A pattern consists of the first words of a command:
 *
 *   git status        git status, git status --short
 *   npm run * $       npm run, followed by exactly one word
 *   rm                every rm command
 *
 * `*` matches any single word. `$` at the end means that no more words follow.
 *
 * A rule that allows a command must match strictly (`covers`): the command starts with exactly these words and assigns
 * no variables. For some programs, the further words are checked too (further-words.ts). For a rule that denies or
 * asks, a looser match is enough (`concerns`): the program may have any path, and other words may be between the words
 * of the pattern. If a word contains an expansion, so that its value is unknown, the result is "maybe".
 */
import { singleQuoted } from '../../base/index.ts';
import { areHarmless } from './further-words.ts';
import { parseWords } from './parse.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

/** The end of the text of an exact pattern. */
const EXACT_END = ' $';

export interface Pattern {
  readonly words: readonly Word[];
  readonly exact: boolean;
}

/** Parses a pattern. Returns undefined if it is invalid. */
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

/** Returns whether the pattern matches this command strictly, as a rule that allows must. */
export function covers({ words, exact }: Pattern, command: SimpleCommand): boolean {
  if (command.assigns) return false;
  if (exact && command.words.length !== words.length) return false;
  const isCovered = words.every((word, index) => {
    const actual = command.words[index];
    return actual?.literal === true && (isAny(word) || actual.text === word.text);
  });
  if (!isCovered || !prefixOf(words)) return isCovered;
  return areHarmless(words[0]!.text, command.words.slice(words.length));
}

/** Returns whether the pattern matches or may match this command. */
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

/** Returns the name of a program without its path, in lower case, because some file systems ignore case. */
function base(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1).toLowerCase();
}

/** Returns the pattern that matches only this command, or undefined if there is no such pattern. */
export function exactPattern(command: SimpleCommand): string | undefined {
  const { words, assigns } = command;
  if (assigns || words.length === 0 || !words.every((word) => word.literal)) return undefined;
  const pattern = words.map((word) => quoted(word.text)).join(' ') + EXACT_END;
  // A program may have the name of a reserved word, as in `sudo fi`. A pattern with this name would be parsed
  // differently.
  const parsed = parsePattern(pattern);
  return parsed && covers(parsed, command) ? pattern : undefined;
}

/** Returns the command of a pattern from `exactPattern`, or undefined if the pattern is not exact. */
export function exactCommand(pattern: string): string | undefined {
  return pattern.endsWith(EXACT_END) ? pattern.slice(0, -EXACT_END.length) : undefined;
}

/**
 * The first words of commands that may be allowed with any further words, except for some options (further-words.ts).
 * `*` stands for the name of a script. The list is closed. It contains no program whose further words are another
 * command or code, such as interpreters, shells, sudo, env, xargs, npx, make (`--eval`), go (`-exec`), rg (`--pre`) and
 * find.
 */
const PREFIXES = (
  'npm test, npm run *, npm run-script *, pnpm test, pnpm run *, yarn test, yarn run *, bun test, cargo build, ' +
  'cargo check, cargo test, cargo clippy, cargo fmt, cargo doc, dotnet build, dotnet test, git status, git diff, ' +
  'git log, git show, git blame, git add, git commit, git rev-parse, git ls-files, pytest, tsc, eslint, prettier, ' +
  'jest, vitest, mocha, mypy, ruff, black, rspec, rubocop, phpunit, oxlint'
)
  .split(', ')
  .map((prefix) => prefix.split(' '));
const SCRIPT_NAME = /^\w[\w:.@/-]*$/;
/** Programs whose further words are code. `yarn run NAME` runs such a program if there is no script with its name. */
const INTERPRETER =
  /^(?:node|tsx|ts-node(?:-\w+)*|swc-node|babel-node|deno|bun|env|npx|(?:ba|z|da|fi|k)?sh|python[\d.]*|ruby|perl)$/;

/** Returns the prefix with which the words start, or undefined if there is none. */
function prefixOf(words: readonly Word[]): readonly string[] | undefined {
  return PREFIXES.find((prefix) =>
    prefix.every((wanted, index) => {
      const word = words[index];
      return word !== undefined && (wanted === '*' || (word.literal && word.text === wanted));
    }),
  );
}

/**
 * Returns the pattern that matches this command with any further words. Returns undefined if such a pattern could allow
 * very different commands, or would not match this command.
 */
export function prefixPattern(command: SimpleCommand): string | undefined {
  const found = prefixOf(command.words);
  if (!found) return undefined;
  const first = command.words.slice(0, found.length);
  const isPlain = first.every(({ text, literal }, index) => {
    if (found[index] !== '*') return literal;
    return literal && SCRIPT_NAME.test(text) && !INTERPRETER.test(text);
  });
  const pattern = { words: first, exact: false };
  return isPlain && covers(pattern, command) ? first.map(({ text }) => text).join(' ') : undefined;
}

function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : singleQuoted(word);
}
