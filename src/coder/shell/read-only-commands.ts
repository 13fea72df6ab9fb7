/**
 * The closed list of commands that only read. In the modes `ask` and `auto-edit`, a line of these commands runs without
 * approval if it reads only files of the workspace (read-only-line.ts checks this condition).
 *
 *   git log --oneline | head -5        on the list
 *   cat a > b, ls; ls, cat $X, ls *    not on the list: a line may have only plain words, quotes and pipes
 *   find . -delete, rg --pre x         not on the list: an option that is not listed below may write or run something
 *
 * An option is listed only if it writes nothing, runs nothing and names no file in the GNU, BSD and BusyBox versions of
 * the program.
 */
import { parseCommandLine } from './parse.ts';
import { literalTexts, type SimpleCommand } from './simple-command.ts';
import { gitReading } from './read-only-git.ts';
import { readOptions, setOf, wordsIn, type KnownOptions } from './read-options.ts';

export interface ReadOnlyCommand {
  readonly program: string;
  /** Words that may be the paths of files and folders. */
  readonly operands: readonly string[];
  /** Whether the command names no file. A filter such as `cat` then reads its standard input. */
  readonly readsInput?: boolean;
  /** Whether the command reads folders: the folders in `operands`, or the workspace if there are no operands. */
  readonly readsFolders: boolean;
  /** Set if the command is git and reads a repository. `git --version` does not read one. */
  readonly git?: { readonly comparesFiles: boolean };
}

type Reading = Omit<ReadOnlyCommand, 'program'>;
/** Returns what a command with these arguments reads, or undefined if it may do anything else. */
type Reader = (args: readonly string[]) => Reading | undefined;

/** Quoted parts of a line, in which bash expands nothing. */
const QUOTED = /'[^']*'|"(?:[^"$`\\]|\\[^"$`\\])*"|\\[!-~]/g;
/** A line without its quoted parts. A tilde is only allowed after a letter, a digit, `_` or `^`, as in `HEAD~2`. */
const PLAIN = /^(?:[\w ./:=,+@%^|-]|(?<=[\w^])~)*$/;
const ASCII = /^[ -~]*$/;

/**
 * Commands that print a version. Unlike npm, yarn, go and rustc, these programs print it without reading anything in
 * the workspace.
 */
const VERSIONS = new Set([
  ...wordsIn('node python python3 ruby perl gcc clang make cmake git').map(
    (name) => `${name} --version`,
  ),
  ...wordsIn('node ruby perl make').map((name) => `${name} -v`),
  ...wordsIn('python python3').map((name) => `${name} -V`),
]);

const FILTERS = setOf('cat head tail wc grep');
const NOTHING: Reading = { operands: [], readsFolders: false };

const ENDS: KnownOptions = {
  short: 'qvn:c:',
  long: '--quiet --silent --verbose --lines: --bytes:',
  other: /^-\d+$/,
};

export const GREP: KnownOptions = {
  short: 'EFGPivwxcLlnHhoqsrabA:B:C:m:e:',
  long: `--recursive --line-number --ignore-case --count --files-with-matches --files-without-match
    --fixed-strings --extended-regexp --perl-regexp --basic-regexp --word-regexp --line-regexp --invert-match
    --only-matching --no-filename --with-filename --no-messages --quiet --text --byte-offset --color::
    --colour:: --include: --exclude: --exclude-dir: --max-count: --context: --after-context: --before-context:
    --regexp: --binary-files:`,
  other: /^-\d+$/,
};

export const RG: KnownOptions = {
  short: 'nNilcwvFSsoHIUPxA:B:C:m:e:g:t:T:M:d:',
  long: `--line-number --no-line-number --ignore-case --smart-case --case-sensitive --count --count-matches
    --files-with-matches --files-without-match --fixed-strings --word-regexp --line-regexp --invert-match
    --only-matching --no-heading --heading --with-filename --no-filename --hidden --no-ignore --no-ignore-vcs
    --multiline --multiline-dotall --pcre2 --json --stats --trim --column --vimgrep --files --type-list
    --no-messages --no-config --after-context: --before-context: --context: --max-count: --regexp: --glob:
    --iglob: --type: --type-not: --max-depth: --max-columns: --color: --sort:`,
};

/** Words of a `find` expression that take no value. None of the actions changes files or runs a program. */
const FIND_FLAGS =
  setOf(`-print -print0 -ls -prune -quit -not -o -or -a -and ! ( ) -empty -xdev -mount -depth -daystart
  -readable -writable -executable -true -false -nouser -nogroup`);
const FIND_VALUED =
  setOf(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -maxdepth -mindepth
  -size -mtime -mmin -ctime -cmin -atime -amin -perm -user -group -uid -gid -links -inum -printf`);

const COMMANDS: Readonly<Record<string, Reader>> = {
  pwd: (args) => (plain({ short: 'LP' })(args)?.readsInput === true ? NOTHING : undefined),
  cat: plain({ short: 'nbsvetAET', long: '--number --number-nonblank' }),
  head: plain(ENDS),
  tail: plain(ENDS),
  wc: plain({ short: 'clwmL', long: '--lines --words --bytes --chars' }),
  file: plain({ short: 'bik', long: '--brief --mime --mime-type --mime-encoding --keep-going' }),
  stat: plain({ short: 'tc:', long: '--terse --format: --printf:' }),
  ls: folders({
    short: 'aAlhFtrSR1dpgisnmBbcuvxXCoG',
    long: `--all --almost-all --human-readable --recursive --reverse --size --directory --classify --full-time
      --group-directories-first --inode --numeric-uid-gid --no-group --color:: --sort: --time: --time-style:`,
  }),
  du: folders({
    short: 'ahsckmbxd:',
    long: `--all --human-readable --summarize --total --apparent-size --bytes --one-file-system --max-depth:
      --exclude:`,
  }),
  grep: search(GREP, ['-r', '--recursive']),
  rg: search(RG),
  find,
  git(args) {
    const git = gitReading(args);
    return git && { operands: git.operands, readsFolders: true, git };
  },
};

/**
 * Returns the commands of a line if all of them are on the list and are joined only by pipes. Otherwise returns
 * undefined.
 */
export function readOnlyCommands(line: string): readonly ReadOnlyCommand[] | undefined {
  if (!ASCII.test(line)) return undefined;
  const unquoted = line.replaceAll(QUOTED, 'q');
  if (!PLAIN.test(unquoted) || /\|\s*\|/.test(unquoted)) return undefined;
  const { commands, writes, problem } = parseCommandLine(line);
  if (problem !== undefined || writes.length > 0 || commands.length === 0) return undefined;
  // In bash, an empty command in a pipeline is a syntax error. The parser skips it.
  if (commands.length !== unquoted.split('|').length) return undefined;
  const found: ReadOnlyCommand[] = [];
  for (const command of commands) {
    const [program = '', ...args] = literalTexts(command) ?? [];
    const reading = readingOf(program, args);
    if (!reading) return undefined;
    found.push({ program, ...reading });
  }
  return found;
}

/** Returns whether the command is one of FILTERS and reads only its standard input, such as `tail -5` after a pipe. */
export function readsOnlyInput(command: SimpleCommand): boolean {
  const [program = '', ...args] = literalTexts(command) ?? [];
  const reading = FILTERS.has(program) ? readingOf(program, args) : undefined;
  return reading?.readsInput === true && !reading.readsFolders;
}

function readingOf(program: string, args: readonly string[]): Reading | undefined {
  if (args.length === 1 && VERSIONS.has(`${program} ${args[0]!}`)) return NOTHING;
  return Object.hasOwn(COMMANDS, program) ? COMMANDS[program]!(args) : undefined;
}

/** Returns the reader for a command whose operands are files. */
function plain(known: KnownOptions): Reader {
  return (args) => {
    const read = readOptions(args, known);
    if (!read) return undefined;
    const { operands, separate } = read;
    const readsInput = operands.length === 0;
    return { operands: [...operands, ...separate], readsInput, readsFolders: false };
  };
}

/** Returns the reader for a command whose operands are files and folders. */
function folders(known: KnownOptions): Reader {
  return (args) => {
    const read = readOptions(args, known);
    return read && { operands: [...read.operands, ...read.separate], readsFolders: true };
  };
}

/**
 * Returns the reader for a command that searches for a pattern. `recursive` are the options with which the command
 * searches folders. If `recursive` is missing, the command always searches folders.
 */
function search(known: KnownOptions, recursive?: readonly string[]): Reader {
  return (args) => {
    const read = readOptions(args, known);
    if (!read) return undefined;
    const { given, operands, separate } = read;
    const hasOne = (names: readonly string[]) => given.some(({ name }) => names.includes(name));
    const hasPattern = hasOne(['-e', '--regexp', '--files', '--type-list']);
    // In some versions of a program, an option does not take the next word as its value, for example -C of grep. Then
    // this word is the pattern, and all operands may be files.
    const isPattern = !hasPattern && separate.length === 0;
    return {
      readsInput: operands.length === (hasPattern ? 0 : 1),
      operands: isPattern ? operands.slice(1) : [...operands, ...separate],
      readsFolders: !recursive || hasOne(recursive),
    };
  };
}

function find(args: readonly string[]): Reading | undefined {
  const start = args.findIndex((word) => /^[-!(),]/.test(word));
  const expression = start < 0 ? [] : args.slice(start);
  for (let index = 0; index < expression.length; index++) {
    const word = expression[index]!;
    if (FIND_VALUED.has(word)) index++;
    else if (!FIND_FLAGS.has(word)) return undefined;
  }
  return { operands: start < 0 ? args : args.slice(0, start), readsFolders: true };
}
