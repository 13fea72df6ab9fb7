/**
 * A rule such as `npm test` contains only the first words of a command. This file checks the words that follow. A rule
 * that allows commands matches only if each of these words is known to be harmless. Such a rule does not match these
 * commands:
 *
 *   npm test --script-shell=./x         an option that is not in the list of the command (prefixes.ts)
 *   git log --output=/home/ann/.bashrc  the same
 *   pytest ../other                     a path outside the workspace
 *   git diff "$FILE"                    an expansion other than a pattern for file names, such as src/*.ts
 */
import { gitReading } from './read-only-git.ts';
import { readOptions, type KnownOptions } from './read-options.ts';
import type { Word } from './simple-command.ts';
import { staysInside } from './workspace-path.ts';

/**
 * Returns the words that may name files or folders. Returns undefined if one of the words is not known to be harmless.
 */
export type FurtherWords = (words: readonly string[]) => readonly string[] | undefined;

/** The options of a command that are harmless. */
export interface HarmlessOptions extends KnownOptions {
  /** The options whose value may be any text. Other values must match VALUE. */
  readonly texts?: readonly string[];
  /** The pattern that the first operand must match. It excludes harmful operands, such as some subcommands. */
  readonly first?: RegExp;
  /** Words that may be a subcommand at any position. A command with such a word is not harmless. */
  readonly refused?: readonly string[];
  /** Whether words may start with `@`. Default: false, because such a word may name a file that contains arguments. */
  readonly scopes?: boolean;
}

/**
 * The value of an option. Apart from single spaces, it has no characters with a special meaning in a shell, because
 * scripts may get the value too.
 */
const VALUE = /^[\w.@](?:[\w.,:%+@/-]| (?=\w))*$/;
/**
 * A path, a name or a pattern for file names. Only the last part of a path may contain wildcards. A wildcard in another
 * part could match a symbolic link to a folder, and a program or a shell may follow this link. An exception is `**` as
 * a whole part. A last part with wildcards does not start with `.` or `{`, so that it cannot become `..`.
 */
const OPERAND =
  /^(?=[\w.*?[])(?:(?:\*\*|[\w.@+,-](?:[\w.@+,-]| (?=\w))*)\/)*(?:[\w.@+,:-](?:[\w.@+,:-]| (?=\w))*|[\w*?[][\w.@+,:*?[\]{}-]*)?$/;

const WILDCARD = /[*?[{]/;
/** A pattern that a shell never expands to a single name such as `init`. */
const PATH_PATTERN = /^[^*?[{]*\/|\.\w+$/;

/** Returns whether a rule for the first words of a command also matches these further words. */
export function areHarmless(read: FurtherWords, further: readonly Word[], root: string): boolean {
  const patterns = further.filter(({ literal }) => !literal);
  // The shell may expand a pattern to several words, of which only the first can be the value of an option. So a
  // pattern counts as two words.
  const words = further.flatMap(({ text, literal }) => (literal ? [text] : [text, text]));
  const files = patterns.every(isPattern) ? read(words) : undefined;
  if (!files) return false;
  return [...files, ...patterns.map(({ text }) => text)].every(
    (file) => file !== '-' && staysInside(file, root),
  );
}

/**
 * Returns whether the shell expands the word only to files in one folder, and never to an option. Does not check
 * whether this folder is in the workspace.
 */
function isPattern({ text }: Word): boolean {
  return /^[\w.]/.test(text) && OPERAND.test(text) && !text.includes('**');
}

/**
 * Returns the reader for a command with these options. If the command starts another program, `behind` are the options
 * of that program, which follow `--`. Without `behind`, only operands may follow `--`.
 */
export function harmless(known: HarmlessOptions, behind?: HarmlessOptions): FurtherWords {
  return (words) => {
    const end = behind ? words.indexOf('--') : -1;
    if (!behind || end < 0) return filesIn(words, known);
    const own = filesIn(words.slice(0, end), known);
    const others = filesIn(words.slice(end + 1), behind);
    return own && others && [...own, ...others];
  };
}

function filesIn(words: readonly string[], known: HarmlessOptions): readonly string[] | undefined {
  const { texts = [], first, refused = [], scopes } = known;
  if (!scopes && words.some((word) => word.startsWith('@'))) return undefined;
  const read = readOptions(words, known);
  if (!read) return undefined;
  const { operands } = read;
  const values = read.given.flatMap(({ name, value }) =>
    value === undefined || texts.includes(name) ? [] : [value],
  );
  if (!values.every((value) => VALUE.test(value))) return undefined;
  if (!operands.every((operand) => OPERAND.test(operand))) return undefined;
  if (words.some((word) => refused.includes(word))) return undefined;
  const isUnclear = (operand: string) => WILDCARD.test(operand) && !PATH_PATTERN.test(operand);
  if ((first || refused.length > 0) && operands.some(isUnclear)) return undefined;
  if (first && operands.length > 0 && !first.test(operands[0]!)) return undefined;
  return [...operands, ...values];
}

/** Returns the reader for a git command that only reads. */
export function gitReads(subcommand: string): FurtherWords {
  return (words) => gitReading([subcommand, ...words])?.operands;
}

/** Returns the reader for a git command with these options. Unlike with `gitReads`, the command may write. */
export function git(known: KnownOptions): FurtherWords {
  return (words) => {
    const operands = readOptions(words, known)?.operands;
    // An operand that starts with a colon has a special meaning, for example `:(top)` or `:/`.
    return operands?.some((operand) => operand.startsWith(':')) === true ? undefined : operands;
  };
}
