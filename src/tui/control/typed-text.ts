/**
 * Handles a text that the person has sent: a command of this terminal, a command of the person's own shell (`!`), or a
 * prompt for the session.
 */
import { unescapedCommand, unknownCommand, type SessionAction } from '../../display/index.ts';
import type { LiveSession } from '../../live/client/index.ts';
import { helpText, KEYS, localCommand } from '../input/local-commands.ts';
import type { Ui } from '../view/ui.ts';
import type { Completions } from './completions.ts';
import { ModeSwitch } from './mode-switch.ts';
import type { TuiOptions } from './options.ts';
import type { OverlayHost, Overlays } from './overlays.ts';
import { PersonShell } from './person-shell.ts';
import { runSharing } from './sharing.ts';

export interface TypedTextOptions {
  readonly session: LiveSession;
  readonly options: Pick<TuiOptions, 'shell' | 'remote'>;
  readonly host: OverlayHost;
  readonly overlays: Overlays;
  readonly completions: Completions;
  readonly dispatch: (action: SessionAction) => void;
  readonly leave: () => void;
}

export class TypedText {
  readonly #options: TypedTextOptions;
  readonly #shell: PersonShell;
  readonly #modes: ModeSwitch;

  constructor(options: TypedTextOptions) {
    const { host, dispatch } = options;
    this.#options = options;
    this.#shell = new PersonShell({
      shell: options.options.shell,
      running: (command: Ui['command']) => host.change({ command }),
      ended: (call) => dispatch({ kind: 'own-command', call }),
    });
    this.#modes = new ModeSwitch({
      show: (mode) => host.change({ mode }),
      send: (command) => host.run(this.#setMode(command)),
    });
  }

  async handle(text: string): Promise<void> {
    const { overlays, completions, leave, host } = this.#options;
    const local = localCommand(text);
    switch (local?.name) {
      case 'quit':
        return leave();
      case 'keys':
        return this.#notice('info', KEYS);
      case 'help':
        return this.#notice('info', helpText(await completions.sessionCommands(true)));
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
    const { session, options, dispatch } = this.#options;
    dispatch(await runSharing(command, words, session, options));
  }

  /** Chooses the next approval mode. */
  nextMode(): void {
    const { session, host } = this.#options;
    const { roles } = session.self;
    // The mode is empty until the session is open.
    if (host.ui.state.approval === '') return;
    if (roles.includes('prompt') && roles.includes('approve')) {
      this.#modes.next(host.ui.state.approval);
    } else {
      this.#notice('info', 'This client may not change the approval mode.');
    }
  }

  /** Stops the person's own command. Returns whether one was running. */
  stopCommand(): boolean {
    return this.#shell.stop();
  }

  close(): void {
    this.#shell.stop();
    this.#modes.close();
  }

  async #prompt(text: string): Promise<void> {
    const { session, completions, host } = this.#options;
    if (!text.startsWith('/')) {
      await session.prompt(this.#shell.prompt(text));
      return;
    }
    const commands = await completions.commands();
    const problem = unknownCommand(text, commands);
    if (problem === undefined) {
      await session.prompt(unescapedCommand(text, commands));
      return;
    }
    this.#notice('error', problem);
    // The person can correct the text.
    if (host.ui.composer.buffer.text === '') host.write(text);
  }

  async #setMode(command: string): Promise<void> {
    const { session, host } = this.#options;
    try {
      const { queued } = await session.prompt(command);
      if (queued) this.#notice('info', 'The mode changes when the turn ends.');
    } catch (error) {
      host.change({ mode: undefined });
      throw error;
    }
  }

  #notice(level: 'info' | 'error', text: string): void {
    this.#options.dispatch({ kind: 'notice', level, text });
  }
}
