/** Reads the options of a command against a closed list. A command with any other option is not understood. */

export interface KnownOptions {
  /** Single-letter options without a value. */
  readonly flags?: string;
  /** Single-letter options with a value. */
  readonly valued?: string;
  /** Long options without a value. */
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
}

/** Returns the options and operands of a command, or undefined if one of the options is not known. */
export function readOptions(
  words: readonly string[],
  { flags = '', valued = '', long = [], optional = [], longValued = [], other }: KnownOptions,
): ReadOptions | undefined {
  const operands: string[] = [];
  const names = new Set<string>();
  const values: { name: string; value: string }[] = [];
  const keep = (name: string, value?: string): void => {
    names.add(name);
    if (value !== undefined) values.push({ name, value });
  };
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!;
    if (word === '--') {
      operands.push(...words.slice(index + 1));
      break;
    }
    if (other?.test(word) === true) keep(word);
    else if (!word.startsWith('-') || word === '-') operands.push(word);
    else if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const name = equals < 0 ? word : word.slice(0, equals);
      const given = equals < 0 ? undefined : word.slice(equals + 1);
      const takes = longValued.includes(name);
      if (takes) {
        const value = given ?? words[++index];
        if (value === undefined) return undefined;
        keep(name, value);
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
        const value = word.slice(letter + 1) || words[++index];
        if (value === undefined) return undefined;
        keep(name, value);
        break;
      }
    }
  }
  return { operands, names, values };
}
