/** Slash commands: `commands/get` and `command/execute`. */
import * as z from 'zod';
import { Id } from '../message.ts';
import { message } from './message.ts';

export const SlashCommandArgument = message({
  name: z.string().min(1),
  description: z.string(),
  is_required: z.boolean(),
});
export type SlashCommandArgument = z.infer<typeof SlashCommandArgument>;

// The type is declared explicitly, because it is recursive.
export type SlashCommand = {
  name: string;
  description: string;
  arguments: SlashCommandArgument[];
  sub_commands: SlashCommand[];
};
export const SlashCommand: z.ZodType<SlashCommand> = z.looseObject({
  name: z.string().min(1),
  description: z.string(),
  arguments: z.array(SlashCommandArgument),
  sub_commands: z.array(z.lazy(() => SlashCommand)),
});

/**
 * The fields that select the workspace of the commands (an addition of Parley). A server with one workspace needs
 * neither field.
 */
const CommandPlace = {
  /** The id of a conversation. The commands are those of its workspace. */
  contextId: Id.optional(),
  /** The path of the workspace for a new conversation, as in AgentSettings. */
  workspace_path: z.string().min(1).max(4096).optional(),
};

export const GetAllSlashCommandsRequest = message(CommandPlace);
export type GetAllSlashCommandsRequest = z.infer<typeof GetAllSlashCommandsRequest>;

export const GetAllSlashCommandsResponse = message({ commands: z.array(SlashCommand) });
export type GetAllSlashCommandsResponse = z.infer<typeof GetAllSlashCommandsResponse>;

export const ExecuteSlashCommandRequest = message({
  /** The names of the command and its subcommands, for example `["memory", "add"]` for /memory add. */
  command_path: z.array(z.string().min(1).max(256)).min(1).max(16),
  /** All arguments as one string. Some clients omit an empty string. */
  args: z.string().max(100_000).default(''),
  ...CommandPlace,
});
export type ExecuteSlashCommandRequest = z.infer<typeof ExecuteSlashCommandRequest>;

export const CommandExecutionStatus = z.enum([
  'COMMAND_EXECUTION_STATUS_UNSPECIFIED',
  'STARTED',
  'FAILED_TO_START',
  'AWAITING_SHELL_CONFIRMATION',
  'AWAITING_ACTION_CONFIRMATION',
]);
export type CommandExecutionStatus = z.infer<typeof CommandExecutionStatus>;

export const ExecuteSlashCommandResponse = message({
  /**
   * The id of the task in which the command runs. In a live session, it is the id of the message that starts the
   * command's turn. It is empty if the command did not start.
   */
  execution_id: z.string(),
  status: CommandExecutionStatus,
  /** The reason why the command failed to start, or a note that the command waits in the queue of a live session. */
  message: z.string().optional(),
});
export type ExecuteSlashCommandResponse = z.infer<typeof ExecuteSlashCommandResponse>;
