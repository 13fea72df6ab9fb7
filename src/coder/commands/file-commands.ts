/**
 * The user's own slash commands: Markdown files, each with a prompt.
 *
 *   ~/.config/parley/commands/review.md          /review
 *   WORKSPACE/.parley/commands/git/commit.md     /git commit      (only when the workspace is trusted)
 *
 * The typed arguments replace `$ARGUMENTS` or `{{args}}`. If the file has neither, they are appended. `!{git diff}`
 * runs a command first, if the policy allows it, and gives its output to the model (template.ts). The file may start
 * with a header:
 *
 *   ---
 *   description: Fix an issue
 *   arguments:
 *     - issue: its number
 *     - [note]: additional notes        (in brackets: optional)
 *   ---
 *
 * The arguments can also be written in one line: `arguments: issue, [note]`. A workspace's command overrides the user's
 * command with the same name.
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import { systemCode, reasonOf } from '../../base/index.ts';
import path from 'node:path';
import type { SlashCommandArgument } from '../../protocol/development-tool/index.ts';
import { FileError } from '../files/file-error.ts';
import { readBounded } from '../files/read-bounded.ts';
import { workspaceCommandsFolder } from '../settings/settings.ts';
import type { CoderCommand } from './command.ts';
import { fillTemplate, type Filled } from './template.ts';

const MAX_FILE_BYTES = 64 * 1024;
const MAX_COMMANDS = 200;
const MAX_ENTRIES = 1000;
const MAX_DEPTH = 4;
const MAX_ARGUMENTS = 16;
const MAX_DESCRIPTION = 500;
/** The maximum number of command lines in one file. */
const MAX_SHELL = 8;
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

export interface FileCommand {
  /** The names of the command, for example `['git', 'commit']` for /git commit. */
  readonly path: readonly string[];
  readonly description: string;
  readonly arguments: readonly SlashCommandArgument[];
  readonly source: 'user' | 'workspace';
  readonly file: string;
  /** Whether the file contains command lines. */
  readonly runs: boolean;
  /** Returns the prompt with the typed arguments. */
  prompt(args: string): Filled;
}

export interface FileCommands {
  /** The commands, sorted by name. */
  readonly commands: readonly FileCommand[];
  /** One line for each file that was ignored, with the reason. */
  readonly problems: readonly string[];
}

export async function loadFileCommands(options: {
  readonly configFolder: string;
  readonly workspace: string;
  readonly trusted: boolean;
}): Promise<FileCommands> {
  const { configFolder, workspace, trusted } = options;
  const found = new Map<string, FileCommand>();
  const problems: string[] = [];
  const load = async (root: string, source: FileCommand['source'], within?: string) => {
    for (const file of await filesIn(root, problems)) {
      if (found.size >= MAX_COMMANDS) {
        problems.push(
          `${file} and others are ignored: there are more than ${MAX_COMMANDS} commands`,
        );
        return;
      }
      const command = await readCommand(root, file, source, within, problems);
      if (command) found.set(command.path.join(' '), command);
    }
  };
  await load(path.join(configFolder, 'commands'), 'user');
  // Files of a workspace must be inside the workspace. The user's own folder may contain links to other places.
  if (trusted) {
    const real = await realpath(workspace);
    await load(workspaceCommandsFolder(real), 'workspace', real);
  }
  const commands = [...found.values()].toSorted((a, b) =>
    a.path.join(' ').localeCompare(b.path.join(' '), 'en'),
  );
  return { commands, problems };
}

/**
 * Returns the commands as a tree. A folder becomes a command with subcommands. If there is a file with the same name as
 * the folder, the command of the folder can be run too.
 */
export function toCommands(files: readonly FileCommand[], depth = 0): CoderCommand[] {
  const groups = Map.groupBy(files, ({ path }) => path[depth]!);
  return Array.from(groups, ([name, group]): CoderCommand => {
    const own = group.find(({ path }) => path.length === depth + 1);
    const below = group.filter((file) => file !== own);
    return {
      name,
      description: own?.description ?? '',
      subCommands: toCommands(below, depth + 1),
      ...(own && {
        arguments: own.arguments,
        asks: () => own.runs,
        prompt: (args: string) => own.prompt(args),
      }),
    };
  });
}

/** Returns the Markdown files in a folder and its subfolders, sorted by name. */
async function filesIn(root: string, problems: string[]): Promise<string[]> {
  const files: string[] = [];
  let seen = 0;
  const walk = async (folder: string, depth: number): Promise<void> => {
    const names = await readdir(folder).catch((error: unknown): string[] => {
      if (depth > 1 || !['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) {
        problems.push(`${folder} cannot be read (${systemCode(error) ?? 'unknown'})`);
      }
      return [];
    });
    for (const name of names.toSorted()) {
      seen += 1;
      if (seen > MAX_ENTRIES) return;
      const file = path.join(folder, name);
      const stats = await stat(file).catch(() => undefined);
      if (stats?.isDirectory() && depth < MAX_DEPTH) await walk(file, depth + 1);
      else if (name.endsWith('.md')) files.push(file);
    }
  };
  await walk(root, 1);
  return files;
}

async function readCommand(
  root: string,
  file: string,
  source: FileCommand['source'],
  within: string | undefined,
  problems: string[],
): Promise<FileCommand | undefined> {
  const names = path.relative(root, file).slice(0, -'.md'.length).split(path.sep);
  if (!names.every((name) => NAME.test(name))) {
    problems.push(
      `${file} is ignored: a command name may contain only letters, digits, "_", "." and "-"`,
    );
    return undefined;
  }
  try {
    const read = await readBounded(file, MAX_FILE_BYTES, {
      ...(within !== undefined && { within }),
    });
    if (read.size > MAX_FILE_BYTES) {
      throw new FileError('too-large', `${file} is larger than ${MAX_FILE_BYTES} bytes`);
    }
    const { description, args, body } = parseCommand(read.bytes.toString('utf8'));
    if (body === '') throw new FileError('failed', `${file} is empty`);
    const { shell } = fillTemplate(body, '');
    if (shell.length > MAX_SHELL) {
      throw new FileError('too-large', `${file} has more than ${MAX_SHELL} commands in !{…}`);
    }
    return {
      path: names,
      description: description || firstLine(body),
      arguments: args,
      source,
      file,
      runs: shell.length > 0,
      prompt: (typed) => fillTemplate(body, typed.trim()),
    };
  } catch (error) {
    problems.push(`${reasonOf(error)}: the command is ignored`);
    return undefined;
  }
}

function firstLine(body: string): string {
  const line = body.split('\n').find((each) => each.trim() !== '') ?? '';
  return line
    .replace(/^#+\s*/, '')
    .trim()
    .slice(0, MAX_DESCRIPTION);
}

interface ParsedCommand {
  readonly description: string;
  readonly args: SlashCommandArgument[];
  readonly body: string;
}

function parseCommand(source: string): ParsedCommand {
  const text = source.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const head = /^---\n([^]*?)\n---(?:\n|$)/.exec(text);
  const body = text.slice(head?.[0].length ?? 0).trim();
  let description = '';
  let args: SlashCommandArgument[] = [];
  let inArguments = false;
  for (const line of head?.[1]?.split('\n') ?? []) {
    const item = /^\s*-\s(.+)$/s.exec(line)?.[1];
    if (inArguments && item !== undefined) args.push(argumentOf(item));
    const [, key, value = ''] = /^(\w+):(.*)$/s.exec(line) ?? [];
    if (key === undefined) continue;
    inArguments = key === 'arguments';
    if (key === 'description') description = unquoted(value).slice(0, MAX_DESCRIPTION);
    if (inArguments && value.trim() !== '') {
      const list = isList(value.trim()) ? value.trim().slice(1, -1) : value;
      args = list.split(',').map(argumentOf);
    }
  }
  return {
    description,
    args: args.filter(({ name }) => name !== '').slice(0, MAX_ARGUMENTS),
    body,
  };
}

/** Returns whether the text is a list in brackets, and not a single optional argument such as `[name]`. */
function isList(text: string): boolean {
  const end = text.indexOf(']');
  const comma = text.indexOf(',');
  return text.startsWith('[') && text.endsWith(']') && comma > 0 && comma < end;
}

/** Parses `name` or `[name]`, optionally followed by `: description`. */
function argumentOf(text: string): SlashCommandArgument {
  const [, raw = '', description = ''] = /^([^:]*)(?::(.*))?$/s.exec(unquoted(text)) ?? [];
  const name = unquoted(raw);
  const optional = /^\[(.+)\]$/.exec(name)?.[1];
  return {
    name: optional ?? name,
    description: unquoted(description).slice(0, MAX_DESCRIPTION),
    is_required: optional === undefined,
  };
}

function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2')
    .trim();
}
