/**
 * Handles a text that the person has sent: a command of this terminal, a command of the person's own shell (`!`), or a
 * prompt for the session. Also changes the approval mode with Shift-Tab.
 */
import { unescapedCommand, unknownCommand, type SessionAction } from '../../display/index.ts';
import { helpText, KEYS, localCommand } from '../input/local-commands.ts';
import type { Completions } from './completions.ts';
import type { TuiOptions } from './options.ts';
import type { OverlayHost, Overlays } from './overlays.ts';
import { PersonShell } from './person-shell.ts';
import { runSharing } from './sharing.ts';

/** Time from the last press of Shift-Tab until the chosen approval mode is sent. */
const SETTLED_MS = 700;
/**
 * The approval modes, in the order in which Shift-Tab chooses them. The mode `yolo` is left out, so that it cannot be
 * chosen by mistake.
 */
const MODES = ['ask', 'auto-edit', 'plan'] as const;

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
  /** The approval mode that the person has chosen and that was not sent yet. */
  #mode: string | undefined;
  #modeTimer: NodeJS.Timeout | undefined;

  constructor(host: TextHost, options: TypedTextOptions) {
    this.#host = host;
    this.#options = options;
    this.#shell = new PersonShell({
      shell: options.options.shell,
      running: (command) => host.change({ command }),
      ended: (call) => host.dispatch({ kind: 'own-command', call }),
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
    // The prompt must run in the mode that is shown. So a mode that was not sent yet is sent before the prompt.
    this.#settleMode(host.ui.state.approval);
    await this.#prompt(text);
  }

  async share(command: 'remote' | 'clients', words: readonly string[]): Promise<void> {
    const { session } = this.#host;
    this.#host.dispatch(await runSharing(command, words, session, this.#options.options));
  }

  /**
   * Chooses the next approval mode. The chosen mode is shown at once. The command /approval is sent when the person
   * has stopped pressing the key, so that only the final mode is in the log of the session.
   */
  nextMode(): void {
    const host = this.#host;
    const { roles } = host.session.self;
    const { approval } = host.ui.state;
    // The mode is empty until the session is open.
    if (approval === '') return;
    if (!roles.includes('prompt') || !roles.includes('approve')) {
      host.notice('info', 'This client may not change the approval mode.');
      return;
    }
    const before = this.#mode ?? approval;
    const at = MODES.findIndex((mode) => mode === before);
    this.#mode = MODES[(at + 1) % MODES.length] ?? MODES[0];
    host.change({ mode: this.#mode });
    clearTimeout(this.#modeTimer);
    this.#modeTimer = setTimeout(() => this.#settleMode(approval), SETTLED_MS);
  }

  /** Stops the person's own command. Returns whether a command was running. */
  stopCommand(): boolean {
    return this.#shell.stop();
  }

  close(): void {
    this.#shell.stop();
    // A chosen mode that was not sent yet is never sent.
    clearTimeout(this.#modeTimer);
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
      // The session would send `//quit` unchanged to the model, because /quit is not a command of the session.
      await host.session.prompt(unescapedCommand(text, await host.session.commands()));
      return;
    }
    host.notice('error', problem);
    // Puts the text back into the text field, so that the person can correct it.
    if (host.ui.composer.buffer.text === '') host.write(text);
  }

  /** Sends the chosen mode now, if there is one and it is not the current mode of the session. */
  #settleMode(current: string): void {
    clearTimeout(this.#modeTimer);
    const chosen = this.#mode;
    this.#mode = undefined;
    if (chosen === undefined) return;
    if (chosen === current) this.#host.change({ mode: undefined });
    else this.#host.attempt(this.#sendMode(chosen));
  }

  async #sendMode(mode: string): Promise<void> {
    const host = this.#host;
    try {
      const { queued } = await host.session.prompt(`/approval ${mode}`);
      if (queued) host.notice('info', 'The mode changes when the turn ends.');
    } catch (error) {
      host.change({ mode: undefined });
      throw error;
    }
  }
}
