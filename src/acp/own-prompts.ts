/**
 * Tracks the prompts of one client, from sending to the end of their turns.
 *
 * The session reports each prompt when its turn starts, in the order of sending. The client's own prompts are
 * recognized by their source. The session also reports when it drops a queued prompt.
 */
import type { StopReason } from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import type { ToolCallConfirmation } from '../protocol/development-tool/index.ts';
import type { Part } from '../protocol/index.ts';

interface Sent {
  readonly done: PromiseWithResolvers<StopReason>;
  /** True if the client canceled after it sent the prompt. */
  doomed: boolean;
  /** Whether the reply is hidden from the client. */
  readonly quiet: boolean;
}

export class OwnPrompts {
  readonly #session: Pick<LiveSession, 'prompt' | 'confirm' | 'cancel'>;
  readonly #waiting: Sent[] = [];
  readonly #begun = new Set<Sent>();

  constructor(session: Pick<LiveSession, 'prompt' | 'confirm' | 'cancel'>) {
    this.#session = session;
  }

  /** Whether a prompt or an answer of the client waits for the end of its turn. */
  get isPending(): boolean {
    return this.#waiting.length > 0 || this.#begun.size > 0;
  }

  /** Whether the reply of the running turn is hidden from the client. */
  get quiet(): boolean {
    return [...this.#begun].some(({ quiet }) => quiet);
  }

  async send(content: string | readonly Part[], { quiet = false } = {}) {
    const sent = newSent(quiet);
    this.#waiting.push(sent);
    try {
      const { queued, forgotten } = await this.#session.prompt(content);
      void forgotten?.then(() => {
        if (this.#forget(sent)) settle(sent.done, 'cancelled');
      });
      return { queued, done: sent.done.promise };
    } catch (error) {
      this.#forget(sent);
      if (!sent.doomed) throw error;
      return { queued: true, done: Promise.resolve<StopReason>('cancelled') };
    }
  }

  /**
   * Answers a question of the running turn. Resolves when the turn ends. Also resolves when the turn asks a question
   * that must be answered with a text. The client's next prompt is then the answer.
   */
  async answer(confirmation: ToolCallConfirmation): Promise<StopReason> {
    const sent = newSent(false);
    this.#begun.add(sent);
    try {
      await this.#session.confirm(confirmation);
    } catch (error) {
      this.#begun.delete(sent);
      throw error;
    }
    return sent.done.promise;
  }

  /** Called when a prompt has started a turn, or has answered a question in the running turn. */
  began({ own }: { readonly own: boolean }): void {
    const sent = own ? this.#waiting.shift() : undefined;
    if (sent) this.#begun.add(sent);
  }

  /** Called when the turn has ended, or has asked a question that the client's next prompt answers. */
  end(outcome: StopReason | Error): void {
    for (const { done } of this.#begun) settle(done, outcome);
    this.#begun.clear();
  }

  /** Cancels the turn and drops the queued prompts. */
  async cancel(): Promise<void> {
    for (const sent of this.#waiting) sent.doomed = true;
    await this.#session.cancel();
  }

  /** Ends all prompts, including those whose turns have not begun. */
  endAll(outcome: StopReason | Error): void {
    for (const sent of this.#waiting.splice(0)) this.#begun.add(sent);
    this.end(outcome);
  }

  /** Removes a prompt whose turn has not begun. Returns false if its turn has begun. */
  #forget(sent: Sent): boolean {
    const at = this.#waiting.indexOf(sent);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }
}

function newSent(quiet: boolean): Sent {
  const done: Sent['done'] = Promise.withResolvers();
  // Callers that wait handle a rejection. This line prevents an unhandled rejection if no caller waits.
  done.promise.catch(() => {});
  return { done, doomed: false, quiet };
}

function settle({ resolve, reject }: Sent['done'], outcome: StopReason | Error): void {
  if (outcome instanceof Error) reject(outcome);
  else resolve(outcome);
}
