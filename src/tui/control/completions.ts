/** Finds completions: commands of the session and of this terminal, and files of the workspace. */
import type { LiveSession } from '../../live/client/index.ts';
import type { SlashCommand } from '../../protocol/development-tool/index.ts';
import { commandChoices, fileChoices, type Choice, type Completable } from '../../display/index.ts';
import { LOCAL_COMMANDS } from '../input/local-commands.ts';
import type { TuiOptions } from './options.ts';

export class Completions {
  readonly #session: LiveSession;
  readonly #files: TuiOptions['files'];
  #commands: Promise<readonly SlashCommand[]> | undefined;

  constructor(session: LiveSession, files: TuiOptions['files']) {
    this.#session = session;
    this.#files = files;
  }

  async choices({ kind, prefix }: Completable): Promise<Choice[]> {
    if (kind === 'file') return fileChoices((await this.#files?.(prefix)) ?? []);
    // The commands are reloaded when the person starts to type a command, because command files may have changed.
    return commandChoices(await this.commands(prefix === ''), prefix);
  }

  /** Returns the commands of the session and of this terminal. */
  async commands(reload = false): Promise<readonly SlashCommand[]> {
    return [...(await this.sessionCommands(reload)), ...LOCAL_COMMANDS];
  }

  sessionCommands(reload: boolean): Promise<readonly SlashCommand[]> {
    if (reload || !this.#commands) {
      this.#commands = this.#session.commands();
      this.#commands.catch(() => (this.#commands = undefined));
    }
    return this.#commands;
  }
}
