/** Detects a key that is pressed twice within a short time. */
export type TwiceAction = 'leave' | 'rewind' | 'answer';

const TWICE_MS = 2000;

export class Twice {
  readonly #onHint: (hint: string | undefined) => void;
  #armed: { readonly action: TwiceAction; readonly timer: NodeJS.Timeout } | undefined;

  /** `onHint` is called with the hint after the first press, and with undefined when the hint must disappear. */
  constructor(onHint: (hint: string | undefined) => void) {
    this.#onHint = onHint;
  }

  /** Returns whether this is the second press for the same action within TWICE_MS. If not, shows the hint. */
  press(action: TwiceAction, hint: string): boolean {
    const second = this.#armed?.action === action;
    this.clear();
    if (second) return true;
    this.#armed = { action, timer: setTimeout(() => this.clear(), TWICE_MS) };
    this.#onHint(hint);
    return false;
  }

  clear(): void {
    if (!this.#armed) return;
    clearTimeout(this.#armed.timer);
    this.#armed = undefined;
    this.#onHint(undefined);
  }
}
