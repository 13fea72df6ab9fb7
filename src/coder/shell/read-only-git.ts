/**
 * The git commands that only read the repository. A command with an option that is not listed here is not accepted. For
 * example, `--output` writes a file, `--ext-diff`, `--textconv` and `--show-signature` run programs, and `--no-index`
 * reads files outside the repository. git-settings.ts checks whether the configuration of a repository could make git
 * run a program.
 */
import { readOptions, setOf, type GivenOption, type KnownOptions } from './read-options.ts';

const DIFF = {
  short: 'pusbwzRWS:G:',
  long: `--shortstat --numstat --summary --compact-summary --name-only --name-status --raw --patch --no-patch
    --cached --staged --merge-base --ignore-all-space --ignore-space-change --ignore-blank-lines --no-color
    --no-ext-diff --no-textconv --no-renames --minimal --patience --histogram --function-context --no-prefix
    --exit-code --quiet --check --full-index --text --patch-with-stat --pickaxe-regex --pickaxe-all --color::
    --word-diff:: --color-words:: --find-renames:: --find-copies:: --stat:: --abbrev:: --unified::
    --diff-filter: --diff-algorithm: --inter-hunk-context:`,
} satisfies KnownOptions;

/** The option `-U`. Its value must be in the same word. */
const CONTEXT = /^-U\d+$/;

const LOG: KnownOptions = {
  short: `${DIFF.short}iEFmcn:`,
  long: `${DIFF.long} --oneline --graph --all --merges --no-merges --first-parent --reverse --follow
    --abbrev-commit --no-decorate --regexp-ignore-case --extended-regexp --fixed-strings --all-match
    --invert-grep --topo-order --date-order --no-abbrev-commit --left-right --cherry-pick --cherry-mark
    --no-mailmap --no-notes --full-history --simplify-merges --ancestry-path --parents --children --boundary
    --relative-date --source --decorate:: --branches:: --tags:: --remotes:: --format:: --pretty:: --max-count:
    --skip: --since: --until: --after: --before: --author: --committer: --grep: --date:`,
  other: /^-(?:U?\d+)$/,
};

const SUBCOMMANDS: Readonly<Record<string, KnownOptions>> = {
  status: {
    short: 'sbz',
    long: `--short --branch --long --show-stash --ahead-behind --no-ahead-behind --no-renames --porcelain::
      --untracked-files:: --ignored::`,
    other: /^-u(?:no|normal|all)?$/,
  },
  diff: { ...DIFF, other: CONTEXT },
  log: LOG,
  show: LOG,
  blame: {
    short: 'wlstefnpMCL:',
    long: '--porcelain --line-porcelain --show-name --show-number --show-email --root --abbrev:: --date:',
  },
  branch: {
    short: 'arv',
    long: '--list --all --remotes --verbose --show-current --no-color --color:: --sort:',
  },
};

/** The names of git's built-in log formats. A repository can define further names. */
const FORMATS = setOf('oneline short medium full fuller reference email mboxrd raw');
const SORT_KEY = /^-?(?:refname|committerdate|authordate|creatordate)$/;

export interface GitReading {
  /** Words that may be paths or names of commits. */
  readonly operands: readonly string[];
  /** Whether git compares the files of the workspace with the repository. */
  readonly comparesFiles: boolean;
}

/** Returns what a git command reads, or undefined if the command is not on the list. */
export function gitReading(args: readonly string[]): GitReading | undefined {
  const [name = '', ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const known = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name]! : undefined;
  const read = known && readOptions(rest, known);
  if (!read) return undefined;
  // Without --list, `git branch NAME` creates a branch.
  const isList = name !== 'branch' || read.given.some((option) => option.name === '--list');
  if (!isList && read.operands.length > 0) return undefined;
  if (!read.given.every(isHarmless)) return undefined;
  // An operand that starts with a colon has a special meaning, for example `:(top)` or `:/`.
  if (read.operands.some((operand) => operand.startsWith(':'))) return undefined;
  const comparesFiles = name === 'status' || name === 'diff' || name === 'blame';
  return { operands: [...read.operands, ...read.separate], comparesFiles };
}

/**
 * Returns false if the value of the option could make git run a program. `%G` in a format and the sort key `signature`
 * verify signatures with gpg, and `%(describe)` starts another git command.
 */
function isHarmless({ name, value }: GivenOption): boolean {
  if (value === undefined) return true;
  if (name === '--sort') return SORT_KEY.test(value);
  if (name !== '--format' && name !== '--pretty') return true;
  return FORMATS.has(value) || (value.includes('%') && !/%\W*G|%\W*\(/.test(value));
}
