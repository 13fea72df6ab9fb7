/**
 * Handles a text that the person has sent: a command of this terminal, a command of the person's own shell (`!`), or a
 * prompt for the session.
 */
import { unescapedCommand, unknownCommand, type SessionAction } from '../../display/index.ts';
import { helpText, KEYS, localCommand } from '../input/local-commands.ts';
import type { Completions } from './completions.ts';
import { ModeSwitch } from './mode-switch.ts';
import type { TuiOptions } from './options.ts';
import type { OverlayHost, Overlays } from './overlays.ts';
import { PersonShell } from './person-shell.ts';
import { runSharing } from './sharing.ts';

/** The part of the controller that a typed text needs. */
export interface TextHost extends OverlayHost {
  dispatch(action: SessionAction): void;
  notice(level: 'info' | 'error', text: string): void;
  leave(): void;
}

interface TypedTextOptions {
  readonly options: Pick<TuiOptions, 'shell' | 'remote'>;
  readonly overlays: Overlays;
  readonly completions: Completions;
}

export class TypedText {
  readonly #host: TextHost;
  readonly #options: TypedTextOptions;
  readonly #shell: PersonShell;
  readonly #modes: ModeSwitch;

  constructor(host: TextHost, options: TypedTextOptions) {
    this.#host = host;
    this.#options = options;
    this.#shell = new PersonShell({
      shell: options.options.shell,
      running: (command) => host.change({ command }),
      ended: (call) => host.dispatch({ kind: 'own-command', call }),
    });
    this.#modes = new ModeSwitch({
      show: (mode) => host.change({ mode }),
      send: (command) => host.attempt(this.#setMode(command)),
    });
  }

  async handle(text: string): Promise<void> {
    const host = this.#host;
    const { overlays, completions } = this.#options;
    const local = localCommand(text);
    switch (local?.name) {
      case 'quit':
        return host.leave();
      case 'keys':
        return host.notice('info', KEYS);
      case 'help':
        return host.notice('info', helpText(await completions.sessionCommands(true)));
      case 'restore':
        return overlays.openRestore();
      case 'remote':
      case 'clients':
        return this.share(local.name, local.words);
      default:
    }
    if (text.startsWith('!')) return this.#shell.run(text.slice(1).trim());
    // The prompt must run in the mode that is shown.
    this.#modes.settle(host.ui.state.approval);
    await this.#prompt(text);
  }

  async share(command: 'remote' | 'clients', words: readonly string[]): Promise<void> {
    const { session } = this.#host;
    this.#host.dispatch(await runSharing(command, words, session, this.#options.options));
  }

  /** Chooses the next approval mode. */
  nextMode(): void {
    const host = this.#host;
    const { roles } = host.session.self;
    // The mode is empty until the session is open.
    if (host.ui.state.approval === '') return;
    if (roles.includes('prompt') && roles.includes('approve')) {
      this.#modes.next(host.ui.state.approval);
    } else {
      host.notice('info', 'This client may not change the approval mode.');
    }
  }

  /** Stops the person's own command. Returns whether a command was running. */
  stopCommand(): boolean {
    return this.#shell.stop();
  }

  close(): void {
    this.#shell.stop();
    this.#modes.close();
  }

  async #prompt(text: string): Promise<void> {
    const host = this.#host;
    if (!text.startsWith('/')) {
      await host.session.prompt(this.#shell.prompt(text));
      return;
    }
    const commands = await this.#options.completions.commands();
    const problem = unknownCommand(text, commands);
    if (problem === undefined) {
      // The session does not know the commands of the terminal, such as /quit.
      await host.session.prompt(unescapedCommand(text, await host.session.commands()));
      return;
    }
    host.notice('error', problem);
    // Puts the text back into the text field, so that the person can correct it.
    if (host.ui.composer.buffer.text === '') host.write(text);
  }

  async #setMode(command: string): Promise<void> {
    const host = this.#host;
    try {
      const { queued } = await host.session.prompt(command);
      if (queued) host.notice('info', 'The mode changes when the turn ends.');
    } catch (error) {
      host.change({ mode: undefined });
      throw error;
    }
  }
}
