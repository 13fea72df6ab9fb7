/**
 * The prompts of one client, from when they are sent to the end of the turns that they begin.
 *
 * The session shows each prompt as it begins, in the order in which they were sent; the client's own are told by their
 * source. A prompt that waits for its turn can be forgotten: the session says which, and all others begin.
 */
import type { StopReason } from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import type { Part } from '../protocol/index.ts';

interface Sent {
  readonly done: PromiseWithResolvers<StopReason>;
  /** The client has canceled since. */
  doomed: boolean;
  /** Its answer is not for people. */
  readonly quiet: boolean;
}

export class OwnPrompts {
  readonly #session: Pick<LiveSession, 'prompt' | 'cancel'>;
  readonly #waiting: Sent[] = [];
  readonly #begun = new Set<Sent>();

  constructor(session: Pick<LiveSession, 'prompt' | 'cancel'>) {
    this.#session = session;
  }

  /** Whether the turn that is under way is one whose answer is not for people. */
  get quiet(): boolean {
    return [...this.#begun].some(({ quiet }) => quiet);
  }

  async send(
    content: string | readonly Part[],
    { quiet = false } = {},
  ): Promise<{ readonly queued: boolean; readonly done: Promise<StopReason> }> {
    const sent: Sent = { done: Promise.withResolvers(), doomed: false, quiet };
    const { promise } = sent.done;
    // Who waits hears of it; and there may be nobody any more.
    promise.catch(() => {});
    this.#waiting.push(sent);
    try {
      const { queued, forgotten } = await this.#session.prompt(content);
      void forgotten?.then(() => this.#drop(sent));
      return { queued, done: promise };
    } catch (error) {
      this.#forget(sent);
      if (!sent.doomed) throw error;
      return { queued: true, done: Promise.resolve('cancelled') };
    }
  }

  /** A prompt has begun a turn, or answers in one. */
  began({ own }: { readonly own: boolean }): void {
    const sent = own ? this.#waiting.shift() : undefined;
    if (sent) this.#begun.add(sent);
  }

  /** The turn has ended, or waits for words. */
  end(outcome: StopReason | Error): void {
    for (const { done } of this.#begun) settle(done, outcome);
    this.#begun.clear();
  }

  /** Stops the turn, and has the session forget what waits. */
  async cancel(): Promise<void> {
    for (const sent of this.#waiting) sent.doomed = true;
    await this.#session.cancel();
  }

  close(error: Error): void {
    for (const sent of this.#waiting.splice(0)) this.#begun.add(sent);
    this.end(error);
  }

  #drop(sent: Sent): void {
    if (this.#forget(sent)) settle(sent.done, 'cancelled');
  }

  /** False: it has begun, or is gone. */
  #forget(sent: Sent): boolean {
    const at = this.#waiting.indexOf(sent);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }
}

function settle({ resolve, reject }: Sent['done'], outcome: StopReason | Error): void {
  if (outcome instanceof Error) reject(outcome);
  else resolve(outcome);
}
