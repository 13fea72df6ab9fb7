/** One program with its words, as it stands in a command line. */

export interface Word {
  /** Without its quotes; as it was written when it is not literal. */
  readonly text: string;
  /** No expansion can make something else of it. */
  readonly literal: boolean;
}

export interface SimpleCommand {
  /** The program first. None when it only assigns variables. */
  readonly words: readonly Word[];
  /** Variables are set for it, or by it: `PATH=/tmp git status` is not `git status`. */
  readonly assigns: boolean;
}
