/**
 * Parses the options of a command. Only the options in a given list are accepted.
 *
 * Versions of a program may disagree on whether an option takes the next word as its value. So a value that is a word
 * of its own must not start with `-`, because another version could read it as an option. For the same reason, no word
 * after `--` may start with `-`. Another version could also read a value that is a word of its own as an operand. So
 * these values are in `separate` too, for callers that check operands.
 */

/** The options of a program, in the notation of the program getopt. */
export interface KnownOptions {
  /** Single-letter options. An option with `:` has a value, which is the rest of the word or the next word. */
  readonly short?: string;
  /**
   * Long options, separated by white space. An option with `:` has a value, which follows `=` or is the next word. An
   * option with `::` may have a value, which follows `=`. An option with one `-`, such as `-a` or `-watch`, can be
   * listed here if the program does not read each letter of `-abc` as an option. The option must be a word of its own.
   */
  readonly long?: string;
  /** Other words that are options, for example `-20` of `head`. */
  readonly other?: RegExp;
}

export interface GivenOption {
  /** The name, for example `-n` or `--max-args`. */
  readonly name: string;
  readonly value?: string | undefined;
  /** True if the value is the next word. */
  readonly separate?: boolean;
}

export interface ReadOptions {
  /** The words that are neither options nor values of options. */
  readonly operands: readonly string[];
  readonly given: readonly GivenOption[];
  /** The values that are words of their own, as in `-o value`. */
  readonly separate: readonly string[];
}

/** Splits a text at white space. */
export function wordsIn(text: string): string[] {
  return text.split(/\s+/);
}

/** Returns the set of the words in a text. */
export function setOf(text: string): ReadonlySet<string> {
  return new Set(wordsIn(text));
}

/**
 * Returns the options in a word that starts with `-`. Returns undefined if an option is unknown, or has a value that it
 * does not take. `next` is the word after `word`, or undefined at the end of the command.
 */
type OptionReader = (word: string, next: string | undefined) => GivenOption[] | undefined;

/** The readers of the lists. A line may be checked against many rules, so each list is parsed only once. */
const readers = new WeakMap<KnownOptions, OptionReader>();

/** Returns the reader of a list of options. */
export function optionReader(known: KnownOptions): OptionReader {
  const reader = readers.get(known) ?? createReader(known);
  readers.set(known, reader);
  return reader;
}

function createReader({ short = '', long = '' }: KnownOptions): OptionReader {
  const parse = (texts: Iterable<RegExpMatchArray>) =>
    new Map(Array.from(texts, ([, name = '', colons = '']): [string, string] => [name, colons]));
  const letters = parse(short.matchAll(/(.)(:*)/g));
  const words = parse(long.matchAll(/([^\s:]+)(:*)/g));
  return (word, next) => {
    if (word.startsWith('--') || words.has(word)) {
      const equals = word.indexOf('=');
      const name = equals < 0 ? word : word.slice(0, equals);
      const value = equals < 0 ? undefined : word.slice(equals + 1);
      const colons = words.get(name);
      if (colons === undefined || (colons === '' && value !== undefined)) return undefined;
      const isNext = colons === ':' && value === undefined;
      return [isNext ? { name, value: next, separate: true } : { name, value }];
    }
    const given: GivenOption[] = [];
    for (let at = 1; at < word.length; at++) {
      const name = `-${word[at]!}`;
      const colons = letters.get(word[at]!);
      if (colons === undefined) return undefined;
      if (colons === '') {
        given.push({ name });
        continue;
      }
      const value = word.slice(at + 1);
      return [...given, value === '' ? { name, value: next, separate: true } : { name, value }];
    }
    return given;
  };
}

/**
 * Returns the options and operands of a command. Returns undefined if an option is unknown, lacks its value, or has a
 * value that it does not take. Also returns undefined if a value in `separate` or a word after `--` starts with `-`.
 */
export function readOptions(args: readonly string[], known: KnownOptions): ReadOptions | undefined {
  const optionsIn = optionReader(known);
  const operands: string[] = [];
  const given: GivenOption[] = [];
  const separate: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!;
    if (word === '--') {
      const rest = args.slice(index + 1);
      if (rest.some((operand) => operand.startsWith('-'))) return undefined;
      operands.push(...rest);
      break;
    }
    if (known.other?.test(word) === true) given.push({ name: word });
    else if (!word.startsWith('-') || word === '-') operands.push(word);
    else {
      const found = optionsIn(word, args[index + 1]);
      if (!found) return undefined;
      given.push(...found);
      const last = found.at(-1);
      if (!last?.separate) continue;
      if (last.value === undefined || last.value.startsWith('-')) return undefined;
      separate.push(last.value);
      index++;
    }
  }
  return { operands, given, separate };
}
