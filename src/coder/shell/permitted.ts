/**
 * Decides to which commands of a line "Always allow" may apply. A permission contains only the words of a command. So
 * it does not apply if something else decides what the command does, as in these lines:
 *
 *   python3 - < x.py           the input
 *   git log | python3 -        the output of another command
 *   cd vendor && ./build.sh    the folder
 */
import type { CommandLine } from './parse.ts';
import { GREP, readsOnlyInput, RG } from './read-only-commands.ts';
import { readOptions, type KnownOptions } from './read-options.ts';
import { literalTexts, type SimpleCommand } from './simple-command.ts';
import { programName } from './wrappers.ts';

const FOLDER_COMMANDS = new Set(['cd', 'pushd', 'popd', 'chroot']);
/** Options with which a command runs another command in another folder. */
const FOLDER_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^-\w*C|^--chdir/],
  ['sudo', /^-\w*[DR]/],
  ['find', /^-(?:exec|ok)dir$/],
]);

/** Returns the commands of the line to which permissions may apply. */
export function describedCommands(line: CommandLine, root: string): readonly SimpleCommand[] {
  if (line.hasInput || leavesRoot(line, root)) return [];
  // Filters do not run their input. Other programs may run it as code.
  return line.commands.filter((command) => command.piped !== true || onlyFilters(command));
}

/** Returns whether a command of the line may run in another folder than `root`, the root folder of the workspace. */
export function leavesRoot({ commands }: Pick<CommandLine, 'commands'>, root: string): boolean {
  return commands.some(({ words: [program, ...args] }) => {
    const name = programName(program?.text ?? '');
    const options = FOLDER_OPTIONS.get(name);
    if (options) return args.some(({ text }) => options.test(text));
    const [folder] = args;
    const staysHere =
      name === 'cd' && args.length === 1 && folder?.literal && isRoot(folder.text, root);
    return FOLDER_COMMANDS.has(name) && !staysHere;
  });
}

function isRoot(folder: string, root: string): boolean {
  return folder === root || folder === `${root}/`;
}

/**
 * Filters to which a permission may apply after a pipe, in addition to the commands that `readsOnlyInput` accepts. They
 * treat the input as data: no input makes them run a program or write a file. The list contains no program whose input
 * may become code or the names of files, such as sed, awk, xargs and perl, and no program that writes files, such as
 * tee. It contains no option with which a filter reads patterns or file names from a file, writes a file or runs a
 * program.
 *
 *   npm test | sort -rn      covered
 *   npm test | sort -o x     not covered
 *   npm test | rg --pre x    not covered
 *   npm test | jq -f -       not covered
 *
 * A command on this list still needs a permission, because it may read files outside the workspace.
 */
const FILTERS: Readonly<Record<string, KnownOptions>> = {
  sort: {
    short: 'bdfghiMnRrsuVzcCmk:t:',
    long: '--reverse --unique --numeric-sort --ignore-case --version-sort --stable --key: --field-separator:',
  },
  uniq: {
    short: 'cduiDzf:s:w:',
    long: '--count --repeated --unique --ignore-case --skip-fields: --skip-chars: --check-chars:',
  },
  cut: {
    short: 'snzb:c:d:f:',
    long: '--complement --only-delimited --bytes: --characters: --delimiter: --fields: --output-delimiter:',
  },
  tr: { short: 'cCdst', long: '--complement --delete --squeeze-repeats --truncate-set1' },
  nl: { short: 'pb:d:f:h:i:l:n:s:v:w:' },
  tac: { short: 'brs:' },
  rev: {},
  column: { short: 'txc:s:' },
  fold: { short: 'bsw:', long: '--width:' },
  comm: { short: '123iz' },
  paste: { short: 'szd:', long: '--serial --delimiters:' },
  jq: {
    short: 'rcenSajsRCM',
    long: `--raw-output --compact-output --exit-status --null-input --sort-keys --slurp --raw-input
      --join-output --ascii-output --color-output --monochrome-output --tab`,
  },
  rg: RG,
  egrep: GREP,
  fgrep: GREP,
};

/** A path that contains /dev or /proc. A file there may be the standard input, or may belong to a process. */
const SYSTEM_FILE = /\/(?:dev|proc)(?:\/|$)/;

/** Returns whether the command only filters its input. The input of such a command cannot change what it does. */
function onlyFilters(command: SimpleCommand): boolean {
  if (readsOnlyInput(command)) return true;
  const [program = '', ...args] = literalTexts(command) ?? [];
  if (!Object.hasOwn(FILTERS, program) || args.some((word) => SYSTEM_FILE.test(word))) return false;
  const read = readOptions(args, FILTERS[program]!);
  // The second operand of uniq is the name of a file to write.
  return read !== undefined && (program !== 'uniq' || read.operands.length === 0);
}
