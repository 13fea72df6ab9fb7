/** A simple command of a command line: a program with its arguments. */

export interface Word {
  /** The text without quotes if the word is literal. For any other word, the text as it is written. */
  readonly text: string;
  /** True if the word contains no expansion. */
  readonly literal: boolean;
}

export interface SimpleCommand {
  /** The words of the command, starting with the program. Empty if the command only assigns variables. */
  readonly words: readonly Word[];
  /** True if the command sets variables. For example, `PATH=/tmp git status` is not the same as `git status`. */
  readonly assigns: boolean;
  /** True if the command may read the output of another command of the line, as after `|`. Default: false. */
  readonly piped?: boolean;
}

/** Returns the texts of the words, or undefined if the command sets variables or a word contains an expansion. */
export function literalTexts({ words, assigns }: SimpleCommand): string[] | undefined {
  if (assigns || !words.every(({ literal }) => literal)) return undefined;
  return words.map(({ text }) => text);
}
