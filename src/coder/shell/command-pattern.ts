/**
 * Matches the pattern of a policy rule against a simple command. A pattern consists of the first words of a command:
 *
 *   git status        git status, git status --short
 *   npm run * $       npm run, followed by exactly one word
 *   rm                every rm command
 *
 * `*` matches any single word. In a rule that allows, this word must not be an option. `$` at the end means that no
 * more words follow.
 *
 * A rule that allows a command must match strictly (`covers`): the command starts with exactly these words and assigns
 * no variables. For the commands in prefixes.ts, the words that `*` matches and the further words are checked too. For
 * a rule that denies or asks, a looser match is enough (`concerns`). The program may have any path, and other words may
 * be between the words of the pattern. The value of a word with an expansion is unknown. If such a word decides, the
 * result is "maybe".
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { isObject, singleQuoted } from '../../base/index.ts';
import { areHarmless } from './further-words.ts';
import { parseWords } from './parse.ts';
import { prefixes, type Prefix } from './prefixes.ts';
import { literalTexts, type SimpleCommand, type Word } from './simple-command.ts';
import { baseName } from './wrappers.ts';

/** Maximum size of a package.json that is read. */
const MAX_PACKAGE_BYTES = 1024 * 1024;

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

/**
 * Returns whether the pattern matches this command strictly, as a rule that allows must. `root` is the root folder of
 * the workspace.
 */
export function covers(pattern: Pattern, command: SimpleCommand, root: string): boolean {
  if (!startsWith(pattern, command)) return false;
  const { words } = pattern;
  // The command may start with a prefix although the pattern does not. For example, the pattern `git * main` matches
  // the command `git diff main`, which starts with the prefix `git diff`.
  const prefix = prefixOf(words) ?? (words.some(isAny) ? prefixOf(command.words) : undefined);
  if (!prefix) return true;
  // The words of the command that the pattern does not contain literally: those in the prefix (`names`), and those
  // after the prefix (`further`).
  const names: Word[] = [];
  const further: Word[] = [];
  for (const [index, actual] of command.words.entries()) {
    const word = words[index];
    if (word && !isAny(word)) continue;
    (index < prefix.words.length ? names : further).push(actual);
  }
  if (!names.every(({ text }) => PLAIN_WORD.test(text))) return false;
  if (names.length === 0 && further.length === 0) return true;
  // If package.json has no script NAME, `yarn run NAME` can run any program.
  if (prefix.words[0] === 'yarn' && !isScript(prefix, command, root)) return false;
  if (further.length === 0) return true;
  // If the pattern contains `--`, the further words come after it, so they are checked as words that follow `--`.
  const end = words.filter(({ text }) => text === '--').slice(0, 1);
  return areHarmless(prefix.further, [...end, ...further], root);
}

/**
 * Returns whether the command starts with the words of the pattern, and assigns no variables. `*` matches no option,
 * because an option may choose a program or a file to write.
 */
function startsWith({ words, exact }: Pattern, command: SimpleCommand): boolean {
  if (command.assigns) return false;
  if (exact && command.words.length !== words.length) return false;
  return words.every((word, index) => {
    const actual = command.words[index];
    if (actual?.literal !== true) return false;
    return isAny(word) ? !actual.text.startsWith('-') : actual.text === word.text;
  });
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
  // The comparison ignores case, because some file systems do.
  const [actual, expected] = [program, name!].map(({ text }) => baseName(text).toLowerCase());
  if (actual !== expected) return 'no';
  if (exact && rest.length !== wanted.length && rest.every((word) => word.literal)) return 'no';
  let next = 0;
  for (const word of rest) {
    if (next === wanted.length) break;
    if (!word.literal) return 'maybe';
    if (isAny(wanted[next]!) || wanted[next]!.text === word.text) next++;
  }
  return next === wanted.length ? 'yes' : 'no';
}

/** Returns the pattern that matches only this command, or undefined if there is no such pattern. */
export function exactPattern(command: SimpleCommand): string | undefined {
  const words = literalTexts(command);
  if (!words || words.length === 0) return undefined;
  const pattern = words.map(quoted).join(' ') + EXACT_END;
  // A program may have the name of a reserved word, as in `sudo fi`. A pattern with this name would be parsed
  // differently.
  const parsed = parsePattern(pattern);
  return parsed && startsWith(parsed, command) ? pattern : undefined;
}

/** Returns the command of a pattern from `exactPattern`, or undefined if the pattern is not exact. */
export function exactCommand(pattern: string): string | undefined {
  return pattern.endsWith(EXACT_END) ? pattern.slice(0, -EXACT_END.length) : undefined;
}

/** A word that needs no quotes. */
const PLAIN_WORD = /^\w[\w:.@/-]*$/;

/** Returns the prefix with which the words start, or undefined if there is none. */
function prefixOf(words: readonly Word[]): Prefix | undefined {
  return prefixes.find((prefix) =>
    prefix.words.every((wanted, index) => {
      const word = words[index];
      return word !== undefined && (wanted === '*' || (word.literal && word.text === wanted));
    }),
  );
}

/**
 * Returns whether package.json has the script that the command names. Returns true if the prefix does not contain `*`,
 * which stands for the name of a script.
 */
function isScript({ words }: Prefix, command: SimpleCommand, root: string): boolean {
  const place = words.indexOf('*');
  return place < 0 || isPackageScript(command.words[place]?.text ?? '', root);
}

/** Returns whether package.json in the root folder of the workspace has a script with this name. Never throws. */
function isPackageScript(name: string, root: string): boolean {
  try {
    const file = path.join(root, 'package.json');
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_PACKAGE_BYTES) return false;
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const scripts = isObject(manifest) ? manifest['scripts'] : undefined;
    return isObject(scripts) && Object.hasOwn(scripts, name) && typeof scripts[name] === 'string';
  } catch {
    // The file does not exist or is not valid JSON.
    return false;
  }
}

/**
 * Returns the pattern that matches this command with any further words. Returns undefined if such a pattern could allow
 * very different commands, or would not match this command. `root` is the root folder of the workspace.
 */
export function prefixPattern(command: SimpleCommand, root: string): string | undefined {
  const found = prefixOf(command.words);
  if (!found) return undefined;
  const first = command.words.slice(0, found.words.length);
  // The words must be plain, because the name of the "Always allow" option shows them.
  const isPlain = first.every(({ text, literal }) => literal && PLAIN_WORD.test(text));
  const pattern = { words: first, exact: false };
  if (!isPlain || !isScript(found, command, root) || !covers(pattern, command, root)) {
    return undefined;
  }
  return first.map(({ text }) => text).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : singleQuoted(word);
}
