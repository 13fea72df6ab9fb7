/**
 * What a slash command is: its description for clients, and either something that it does or a prompt for the model.
 *
 * A command runs as a run of the session that is no part of the conversation. It yields what it says, as an agent that
 * is a function does; what goes wrong it throws as a CommandError, in one line for the person.
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
  /** All that there are, the user's own included. */
  readonly commands: readonly CoderCommand[];
}

export interface CoderCommand {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly SlashCommandArgument[];
  readonly subCommands?: readonly CoderCommand[];
  /** Whether, with these arguments, it may ask a person before it does anything. */
  readonly asks?: (args: string) => boolean;
  /** When it is taken up after an answer or a crash it is run again from its start. */
  readonly run?: (args: string, context: CommandContext) => AsyncIterable<CustomAgentYield>;
  /** What the model is told instead, and which command lines are run before it is. */
  readonly prompt?: (args: string) => Filled;
}

/** Why a command did not do what it was told, for the person who told it. */
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

/** As the development-tool extension lists it. */
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
