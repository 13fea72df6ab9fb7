/**
 * Changes the approval mode with Shift-Tab. The chosen mode is shown at once. The command is sent when the person has
 * stopped pressing the key, so that only the final mode is in the log of the session.
 */
const SETTLED_MS = 700;
/**
 * The modes in the order in which the key chooses them. The mode `yolo` is left out, so that nobody chooses it by
 * mistake.
 */
const CYCLE = ['ask', 'auto-edit', 'plan'] as const;

export interface ModeSwitchOptions {
  /** Shows the chosen mode, or the mode of the session again if `mode` is undefined. */
  readonly show: (mode: string | undefined) => void;
  /** Sends the command that sets the mode. */
  readonly send: (command: string) => void;
}

export class ModeSwitch {
  readonly #options: ModeSwitchOptions;
  #timer: NodeJS.Timeout | undefined;
  #chosen: string | undefined;

  constructor(options: ModeSwitchOptions) {
    this.#options = options;
  }

  /** Chooses the next mode. `current` is the mode of the session. */
  next(current: string): void {
    const before = this.#chosen ?? current;
    const at = CYCLE.findIndex((mode) => mode === before);
    this.#chosen = CYCLE[(at + 1) % CYCLE.length] ?? CYCLE[0];
    this.#options.show(this.#chosen);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.settle(current), SETTLED_MS);
  }

  /**
   * Sends the chosen mode now, if there is one and it is not the current mode. Called before a prompt is sent, because
   * the prompt must run in the mode that is shown.
   */
  settle(current: string): void {
    clearTimeout(this.#timer);
    const chosen = this.#chosen;
    this.#chosen = undefined;
    if (chosen === undefined) return;
    if (chosen === current) this.#options.show(undefined);
    else this.#options.send(`/approval ${chosen}`);
  }

  /** Stops the timer, so that a chosen mode that was not sent yet is never sent. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
