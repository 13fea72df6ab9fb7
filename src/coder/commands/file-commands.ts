/**
 * The user's own slash commands: Markdown files, each with a prompt.
 *
 *   ~/.config/parley/commands/review.md          /review
 *   WORKSPACE/.parley/commands/git/commit.md     /git commit      (only when the workspace is trusted)
 *
 * The typed arguments replace `$ARGUMENTS` or `{{args}}`. If the file has neither placeholder, the arguments are
 * appended to the prompt. `!{git diff}` is a shell command that runs before the model is called (template.ts). The
 * policy applies to this command, and the model gets the command's output. In a shell command, the placeholder must be
 * outside of quotes. The file may start with a header:
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
import type { SlashCommandArgument } from '../../protocol/development-tool/index.ts';
import { FileError } from '../files/file-error.ts';
import { parseFrontMatter, unquoted, type FrontMatterField } from '../files/front-matter.ts';
import { readOwnFiles, type OwnFile, type OwnPlace } from '../files/own-files.ts';
import { argument, type CoderCommand } from './command.ts';
import { checkTemplate, fillTemplate } from './template.ts';

const COMMANDS = { folder: 'commands', what: 'command', depth: 4, max: 200 } as const;
const MAX_ARGUMENTS = 16;
const MAX_DESCRIPTION = 500;
/** The maximum number of command lines in one file. */
const MAX_SHELL = 8;

export interface FileCommand extends Required<
  Pick<CoderCommand, 'description' | 'arguments' | 'asks' | 'prompt'>
> {
  /** The names of the parent commands and of the command itself, for example `['git', 'commit']` for /git commit. */
  readonly path: readonly string[];
  readonly source: OwnFile['source'];
}

/** Returns the commands, sorted by name, and lines about the files that were ignored. */
export async function loadFileCommands(place: OwnPlace) {
  const { found, problems } = await readOwnFiles(place, COMMANDS, readCommand);
  const commands = [...found.values()].toSorted((a, b) =>
    a.path.join(' ').localeCompare(b.path.join(' '), 'en'),
  );
  return { commands, problems };
}

/**
 * Returns the commands as a tree. A folder becomes a command with subcommands. This command can be run only if there is
 * a file with the same name, for example `git.md` beside the folder `git`.
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
      ...(own && { arguments: own.arguments, asks: own.asks, prompt: own.prompt }),
    };
  });
}

function readCommand({ names, source, file, text }: OwnFile): FileCommand {
  const { fields, body } = parseFrontMatter(text);
  if (body === '') throw new FileError('failed', `${file} is empty`);
  checkTemplate(file, body);
  const { shell } = fillTemplate(body, '');
  if (shell.length > MAX_SHELL) {
    throw new FileError('too-large', `${file} has more than ${MAX_SHELL} commands in !{…}`);
  }
  const description = fields.get('description')?.text.slice(0, MAX_DESCRIPTION);
  return {
    path: names,
    description: description || firstLine(body),
    arguments: argumentsIn(fields.get('arguments')),
    source,
    // A command line may need approval.
    asks: () => shell.length > 0,
    prompt: (typed) => fillTemplate(body, typed.trim()),
  };
}

function firstLine(body: string): string {
  const line = body.split('\n').find((each) => each.trim() !== '') ?? '';
  return line
    .replace(/^#+\s*/, '')
    .trim()
    .slice(0, MAX_DESCRIPTION);
}

function argumentsIn(field: FrontMatterField | undefined): SlashCommandArgument[] {
  const { text = '', items = [] } = field ?? {};
  const list = isList(text) ? text.slice(1, -1) : text;
  const args = [...list.split(','), ...items].map(argumentOf);
  return args.filter(({ name }) => name !== '').slice(0, MAX_ARGUMENTS);
}

/**
 * Returns whether the brackets surround a list, as in `[a, b]`. In `[name]` and in `[a], [b]`, they mark optional
 * arguments.
 */
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
  const shown = unquoted(description).slice(0, MAX_DESCRIPTION);
  return argument(optional ?? name, shown, optional === undefined);
}
