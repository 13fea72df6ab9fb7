/** A simple command of a command line: a program with its arguments. */

export interface Word {
  /** Without quotes if the word is literal; otherwise as written. */
  readonly text: string;
  /** The word contains no expansion. */
  readonly literal: boolean;
}

export interface SimpleCommand {
  /** The program comes first. Empty if the command only assigns variables. */
  readonly words: readonly Word[];
  /** The command sets variables: `PATH=/tmp git status` is not the same as `git status`. */
  readonly assigns: boolean;
}
