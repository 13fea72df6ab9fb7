/**
 * All commands. The built-in commands come first, then the custom commands, then the prompts of MCP servers. A command
 * cannot override an earlier command.
 */
import type { Message } from '../../protocol/index.ts';
import { isQuoted } from '../approval/quoted.ts';
import type { McpTools } from '../session/mcp-tools.ts';
import { isTrusted } from '../settings/trust.ts';
import { BUILT_IN } from './built-in.ts';
import type { CoderCommand } from './command.ts';
import { loadFileCommands, toCommands } from './file-commands.ts';
import { promptCommands } from './mcp-prompts.ts';
import { parseTyped, type Typed } from './parse.ts';

/**
 * Returns the built-in command in a message if the command changes something outside the conversation. Returns
 * undefined for any other message. Custom commands do not count, because they are prompts for the model. The policy
 * applies to each change that the model then makes.
 */
export function changingCommand(
  message: Message,
): { readonly command: CoderCommand; readonly args: string } | undefined {
  const typed = builtInCommand(message);
  if (typed?.kind !== 'command') return undefined;
  return typed.command.changes?.(typed.args) === true ? typed : undefined;
}

/**
 * Returns the built-in command in a message, or the reason why this command cannot run. Returns undefined if the
 * message is not a built-in command.
 */
export function builtInCommand({
  parts: [first],
}: Message): Exclude<Typed, { kind: 'text' }> | undefined {
  if (first?.kind !== 'text' || isQuoted(first)) return undefined;
  const typed = parseTyped(first.text, BUILT_IN);
  return typed.kind === 'text' ? undefined : typed;
}

/**
 * Returns whether a message is a built-in command that runs code (`run`) instead of prompting the model. Also returns
 * true if the command cannot run, for example because its arguments are invalid. Such a message never answers a
 * question. Any other message can be an answer, even if it starts with a slash, such as `/tmp`. The reason is that a
 * reader of a task's log does not know which custom commands and MCP prompts existed when the message was sent.
 */
export function runsAsFunction(message: Message): boolean {
  const typed = builtInCommand(message);
  return typed?.kind === 'problem' || typed?.command.run !== undefined;
}

/** Returns whether a message is a built-in command that can run while a call waits for an answer. */
export function runsBesideQuestion(message: Message): boolean {
  const typed = builtInCommand(message);
  if (typed?.kind !== 'command' || !typed.command.run) return false;
  return typed.command.asks?.(typed.args) !== true;
}

/**
 * Loads the commands. Also returns lines about the files that were ignored. The files are read each time, because files
 * and trust may have changed. If `workspace` is undefined or not trusted, its command files are not read. The prompts
 * of `mcp` are commands too.
 */
export async function loadCommands(
  configFolder: string,
  workspace: string | undefined,
  mcp: Pick<McpTools, 'prompts'> | undefined,
): Promise<{ readonly commands: CoderCommand[]; readonly problems: readonly string[] }> {
  const trusted = workspace !== undefined && (await isTrusted(configFolder, workspace));
  const place = { configFolder, workspace: workspace ?? configFolder, trusted };
  const { commands: files, problems } = await loadFileCommands(place);
  const all = [...BUILT_IN, ...toCommands(files), ...(mcp ? promptCommands(mcp) : [])];
  // If several commands have the same name, the first one counts.
  const byName = new Map(all.toReversed().map((command) => [command.name, command]));
  return { commands: all.filter((command) => byName.get(command.name) === command), problems };
}
