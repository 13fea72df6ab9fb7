/**
 * A slash command has a description for clients. It also has a function to run, a prompt for the model, or content for
 * the model. A command that only groups subcommands has none of these three.
 *
 * The function of a command is executed as a run of the session, but it is not part of the conversation. It yields its
 * output like a custom agent. If it fails, it throws a CommandError with one line for the person.
 */
import type { ContentPart, RunContext, CustomAgentYield } from '../../agent/index.ts';
import type { SlashCommand, SlashCommandArgument } from '../../protocol/development-tool/index.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { Filled } from './template.ts';

export interface CommandContext {
  /** The run, with the session's events and state. */
  readonly run: RunContext;
  readonly agent: WorkspaceAgent;
  readonly configFolder: string;
  /** All commands, including custom commands. */
  readonly commands: readonly CoderCommand[];
}

export interface CoderCommand {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly SlashCommandArgument[];
  readonly subCommands?: readonly CoderCommand[];
  /**
   * Returns whether the command, with these arguments, changes something outside the conversation: files, memory,
   * settings, the mode or the model. Such a command requires the role `approve`.
   */
  readonly changes?: (args: string) => boolean;
  /** Returns whether the command, with these arguments, may ask a person a question. */
  readonly asks?: (args: string) => boolean;
  /** Runs the command. After an answer or a crash, the command runs again from the start. */
  readonly run?: (args: string, context: CommandContext) => AsyncIterable<CustomAgentYield>;
  /** Returns the prompt for the model, and the command lines to run first. */
  readonly prompt?: (args: string) => Filled;
  /** Returns the content for the model. Called when the turn starts, not when the command is accepted. */
  readonly content?: (args: string, signal: AbortSignal) => Promise<readonly ContentPart[]>;
  /** Returns an error message of one line if the arguments are invalid, or undefined if they are valid. */
  readonly check?: (args: string) => string | undefined;
}

/** Thrown if a command fails. The message is one line for the person. */
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

/** Converts a command to the format of the development-tool extension. */
export function toSlashCommand(command: CoderCommand): SlashCommand {
  return {
    name: command.name,
    description: command.description,
    arguments: [...(command.arguments ?? [])],
    sub_commands: (command.subCommands ?? []).map(toSlashCommand),
  };
}

/** Returns the syntax of a command, for example `/memory add TEXT` or `/restore [ID]`. */
export function commandSyntax(
  path: readonly string[],
  { arguments: taken = [] }: CoderCommand,
): string {
  const words = taken.map(({ name, is_required }) => (is_required ? name : `[${name}]`));
  return [`/${path.join(' ')}`, ...words].join(' ');
}
