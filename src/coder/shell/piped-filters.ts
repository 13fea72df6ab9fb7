/**
 * The closed list of filters to which a permission may apply after a pipe. They treat the input as data: no input makes
 * them run a program or write a file. The list contains no program whose input may become code or the names of files,
 * such as sed, awk, xargs and perl, and no program that writes files, such as tee. It contains no option with which a
 * filter reads patterns or file names from a file, writes a file or runs a program.
 *
 *   npm test | sort -rn                          covered
 *   npm test | sort -o x, rg --pre x, jq -f -    not covered
 *
 * A command on this list still needs a permission, because it may read files outside the workspace.
 */
import { GREP, readsOnlyInput, RG } from './read-only-commands.ts';
import { readOptions, type KnownOptions } from './read-options.ts';
import type { SimpleCommand } from './simple-command.ts';

const OPTIONS: Readonly<Record<string, KnownOptions>> = {
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
    long:
      '--raw-output --compact-output --exit-status --null-input --sort-keys --slurp --raw-input --join-output ' +
      '--ascii-output --color-output --monochrome-output --tab',
  },
  rg: RG,
  egrep: GREP,
  fgrep: GREP,
};

/** A path in a folder whose files may be the input or belong to a process. */
const SYSTEM_FILE = /\/(?:dev|proc)(?:\/|$)/;

/** Returns whether the command only filters its input, so that the input cannot change what the command does. */
export function onlyFilters(command: SimpleCommand): boolean {
  if (readsOnlyInput(command)) return true;
  const { words, assigns } = command;
  if (assigns || !words.every(({ literal }) => literal)) return false;
  const [program = '', ...args] = words.map(({ text }) => text);
  if (!Object.hasOwn(OPTIONS, program) || args.some((word) => SYSTEM_FILE.test(word))) return false;
  const read = readOptions(args, OPTIONS[program]!);
  // The second operand of uniq is the name of a file to write.
  return read !== undefined && (program !== 'uniq' || read.operands.length === 0);
}
