/**
 * Checks on the disk whether a line of commands that only read (read-only-commands.ts) stays in the workspace and
 * cannot run a program of the workspace. Such a line runs without approval, in an environment of its own:
 *
 * - Only a few variables are passed on. Programs are searched only in the system's folders. If bash would run another
 *   program with the same name in the normal environment, the line needs approval.
 * - Git uses exactly the repository in the root of the workspace, without hooks, pager, file system monitor, network
 *   and signature checks. If the repository's configuration contains anything else that git could run, the line needs
 *   approval (git-settings.ts).
 *
 * The text of the line is not changed.
 */
import path from 'node:path';
import { homeFolder } from '../../base/system/index.ts';
import { isInside } from '../files/path-rules.ts';
import { gitEnvironment } from './git-settings.ts';
import { readOnlyCommands, type ReadOnlyCommand } from './read-only-commands.ts';
import { isProgram, mayRead, realOf } from './workspace-path.ts';

export interface ReadOnlyLineOptions {
  /** The root of the workspace, in which the line runs. It must be a real path. */
  readonly root: string;
  /** The environment of other commands. */
  readonly environment: Readonly<Record<string, string>>;
  /** Returns whether the file with this real path may be read without approval. Default: all files may be read. */
  readonly shows?: ((file: string) => boolean) | undefined;
}

/** Folders in which only the system, or the person who uses it, installs programs. */
const SYSTEM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin'];
const BUILTINS = new Set(['pwd']);
/**
 * The variables that are passed on. Other variables, such as RIPGREP_CONFIG_PATH, can make a program run another
 * program.
 */
const PASSED =
  /^(?:HOME|XDG_CONFIG_HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TERM|NO_COLOR|CI|PAGER|TMPDIR)$/;

/**
 * Returns the environment in which the line can run without approval, or undefined if the line needs approval. Never
 * throws.
 */
export async function readOnlyEnvironment(
  line: string,
  options: ReadOnlyLineOptions,
): Promise<Record<string, string> | undefined> {
  const commands = readOnlyCommands(line);
  if (!commands) return undefined;
  try {
    const folders = systemFolders(options.root);
    if (!commands.every((command) => staysInside(command, folders, options))) return undefined;
    const environment = { ...passedOn(options.environment), PATH: folders.join(path.delimiter) };
    const git = commands.flatMap((command) => command.git ?? []);
    if (git.length === 0) return environment;
    const comparesFiles = git.some((one) => one.comparesFiles);
    return await gitEnvironment(environment, { root: options.root, comparesFiles });
  } catch {
    // A file or folder cannot be read, or has changed during the check.
    return undefined;
  }
}

/**
 * Returns the variables that are passed on. HOME and XDG_CONFIG_HOME are always absolute, because with a relative path,
 * git would read its configuration from the workspace.
 */
function passedOn(environment: Readonly<Record<string, string>>): Record<string, string> {
  const passed = Object.entries(environment).filter(
    ([name, value]) =>
      PASSED.test(name) && (!/^(?:HOME|XDG_CONFIG_HOME)$/.test(name) || path.isAbsolute(value)),
  );
  const variables: Record<string, string> = Object.fromEntries(passed);
  return { ...variables, HOME: variables['HOME'] ?? homeFolder() };
}

/** Returns the folders of SYSTEM_FOLDERS that exist and are outside the workspace. */
function systemFolders(root: string): string[] {
  return SYSTEM_FOLDERS.filter((folder) => {
    const real = realOf(folder);
    return real !== undefined && !isInside(root, real);
  });
}

function staysInside(
  { program, operands, readsFolders }: ReadOnlyCommand,
  folders: readonly string[],
  options: ReadOnlyLineOptions,
): boolean {
  const { root, shows } = options;
  if (!BUILTINS.has(program) && !isInstalled(program, folders, options)) return false;
  // If a rule protects some files, a command that reads folders could show them.
  if (shows && readsFolders) return false;
  return operands.every((operand) => mayRead(operand, root, shows));
}

/**
 * Returns whether the program in these folders is outside the workspace, and is the program that bash runs in the
 * normal environment. If it were another program, `node --version` could print the version of another node.
 */
function isInstalled(
  program: string,
  folders: readonly string[],
  { root, environment }: ReadOnlyLineOptions,
): boolean {
  const file = findProgram(program, folders);
  const usual = findProgram(program, (environment['PATH'] ?? '').split(path.delimiter));
  return file !== undefined && file === usual && !isInside(root, file);
}

/** Returns the real path of the first program with this name in the folders, or undefined if there is none. */
function findProgram(program: string, folders: readonly string[]): string | undefined {
  const file = folders.map((folder) => path.join(folder, program)).find(isProgram);
  return file === undefined ? undefined : realOf(file);
}
