/**
 * Decides to which commands of a line "Always allow" may apply. A permission contains only the words of a command. So
 * it does not apply if something else decides what the command does, as in these lines:
 *
 *   python3 - < x.py           the input
 *   git log | python3 -        the output of another command
 *   cd vendor && ./build.sh    the folder
 */
import type { CommandLine } from './parse.ts';
import { onlyFilters } from './piped-filters.ts';
import type { SimpleCommand } from './simple-command.ts';
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
