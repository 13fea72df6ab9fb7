/** Confirmations that come while a turn is under way, for the turn to take when it gets to them. */
import type { ToolCallConfirmation } from '../protocol/development-tool.ts';

export class Inbox {
  #said: ToolCallConfirmation[] = [];
  #open = true;

  /** False: the turn is about to end, and would not look again. */
  get open(): boolean {
    return this.#open;
  }

  put(confirmations: readonly ToolCallConfirmation[]): void {
    this.#said.push(...confirmations);
  }

  take(): readonly ToolCallConfirmation[] {
    const said = this.#said;
    this.#said = [];
    return said;
  }

  close(): void {
    this.#open = false;
  }
}
