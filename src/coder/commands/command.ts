/**
 * A slash command: its description for clients, and either a function to run or a prompt for the model.
 *
 * A command runs as a run of the session, but not as a part of the conversation. It yields its output like a custom agent,
 * and throws a CommandError with one line for the person.
 */
import type { RunContext, CustomAgentYield } from '../../agent/index.ts';
import type { SlashCommand, SlashCommandArgument } from '../../protocol/development-tool/index.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { Filled } from './template.ts';

export interface CommandContext {
  /** The run, with the session's events and state. */
  readonly run: RunContext;
  readonly agent: WorkspaceAgent;
  readonly configFolder: string;
  /** All commands, including the user's own. */
  readonly commands: readonly CoderCommand[];
}

export interface CoderCommand {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly SlashCommandArgument[];
  readonly subCommands?: readonly CoderCommand[];
  /** Whether the command may ask a person first, with these arguments. */
  readonly asks?: (args: string) => boolean;
  /** After an answer or a crash, it runs again from the start. */
  readonly run?: (args: string, context: CommandContext) => AsyncIterable<CustomAgentYield>;
  /** The prompt for the model, and the command lines to run first. */
  readonly prompt?: (args: string) => Filled;
}

/** Why a command failed, in one line for the person. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export function argument(
  name: string,
  description: string,
  isRequired = true,
): SlashCommandArgument {
  return { name, description, is_required: isRequired };
}

/** The command as the development-tool extension describes it. */
export function toSlashCommand(command: CoderCommand): SlashCommand {
  return {
    name: command.name,
    description: command.description,
    arguments: [...(command.arguments ?? [])],
    sub_commands: (command.subCommands ?? []).map(toSlashCommand),
  };
}

/** `/memory add TEXT`, `/restore [ID]`. */
export function commandSyntax(
  path: readonly string[],
  { arguments: taken = [] }: CoderCommand,
): string {
  const words = taken.map(({ name, is_required }) => (is_required ? name : `[${name}]`));
  return [`/${path.join(' ')}`, ...words].join(' ');
}
