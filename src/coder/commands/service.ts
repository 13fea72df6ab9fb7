/** What serves slash commands, whichever dialect they are asked for in. */
import type {
  ExecuteSlashCommandRequest,
  ExecuteSlashCommandResponse,
  SlashCommand,
} from '../../protocol/development-tool.ts';
import type { Call } from '../../protocol/index.ts';
import type { RequestHandler } from '../../server/index.ts';

export interface CommandService {
  /** The commands at the top, with those below them. */
  list(): Promise<SlashCommand[]>;
  /** Starts a command as a task, `execution_id`, whose events say what comes of it. */
  execute(
    request: ExecuteSlashCommandRequest,
    call: Call,
    handler: RequestHandler,
  ): Promise<ExecuteSlashCommandResponse>;
}
