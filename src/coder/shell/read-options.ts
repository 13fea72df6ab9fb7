/**
 * Parses the options of a command. Only the options in a given list are accepted.
 *
 * Versions of a program may disagree on whether an option takes the next word as its value. So a value that is a word
 * of its own must not start with `-`, because another version could read it as an option. For the same reason, no word
 * after `--` may start with `-`. The caller checks the values in `separate` as if they were operands.
 */

export interface KnownOptions {
  /** Single-letter options without a value. */
  readonly flags?: string;
  /** Single-letter options with a value. */
  readonly valued?: string;
  /**
   * Long options without a value. An option with one `-`, such as `-a` or `-watch`, can be listed here or in
   * `longValued` if the program does not read each letter of `-abc` as an option. The option must be a word of its own.
   */
  readonly long?: readonly string[];
  /** Long options whose value, if there is one, follows `=`. */
  readonly optional?: readonly string[];
  /** Long options with a value, which follows `=` or is the next word. */
  readonly longValued?: readonly string[];
  /** Other words that are options, for example `-20` of `head`. */
  readonly other?: RegExp;
}

export interface ReadOptions {
  /** The words that are neither options nor values of options. */
  readonly operands: readonly string[];
  /** The names of the options, for example `-r` and `--include`. */
  readonly names: ReadonlySet<string>;
  /** The values of the options. */
  readonly values: readonly { readonly name: string; readonly value: string }[];
  /** Those of the values that are words of their own, as in `-o value`. */
  readonly separate: readonly string[];
}

/** Splits a text at each space. */
export function wordsIn(text: string): string[] {
  return text.split(' ');
}

/**
 * Returns the options and operands of a command. Returns undefined if an option is unknown, lacks its value or must not
 * have one. Also returns undefined if a value in `separate` or a word after `--` starts with `-`.
 */
export function readOptions(
  args: readonly string[],
  { flags = '', valued = '', long = [], optional = [], longValued = [], other }: KnownOptions,
): ReadOptions | undefined {
  const operands: string[] = [];
  const names = new Set<string>();
  const values: { name: string; value: string }[] = [];
  const separate: string[] = [];
  const keep = (name: string, value?: string): void => {
    names.add(name);
    if (value !== undefined) values.push({ name, value });
  };
  const keepNext = (name: string, next: string | undefined): boolean => {
    if (next === undefined || next.startsWith('-')) return false;
    separate.push(next);
    keep(name, next);
    return true;
  };
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!;
    if (word === '--') {
      const rest = args.slice(index + 1);
      if (rest.some((operand) => operand.startsWith('-'))) return undefined;
      operands.push(...rest);
      break;
    }
    if (other?.test(word) === true) keep(word);
    else if (!word.startsWith('-') || word === '-') operands.push(word);
    else if (word.startsWith('--') || long.includes(word) || longValued.includes(word)) {
      const equals = word.indexOf('=');
      const name = equals < 0 ? word : word.slice(0, equals);
      const given = equals < 0 ? undefined : word.slice(equals + 1);
      if (longValued.includes(name)) {
        if (given !== undefined) keep(name, given);
        else if (!keepNext(name, args[++index])) return undefined;
      } else if (optional.includes(name)) keep(name, given);
      else if (long.includes(name) && given === undefined) keep(name);
      else return undefined;
    } else {
      for (let letter = 1; letter < word.length; letter++) {
        const name = `-${word[letter]!}`;
        if (flags.includes(word[letter]!)) {
          keep(name);
          continue;
        }
        if (!valued.includes(word[letter]!)) return undefined;
        const value = word.slice(letter + 1);
        if (value !== '') keep(name, value);
        else if (!keepNext(name, args[++index])) return undefined;
        break;
      }
    }
  }
  return { operands, names, values, separate };
}
