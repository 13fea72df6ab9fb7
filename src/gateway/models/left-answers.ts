/**
 * Reads the rest of an answer whose caller has left, until the provider reports the usage. Without this report, the
 * gateway could only estimate the tokens of hidden thoughts. The reading time and the number of such answers are
 * limited.
 */
import type { Usage } from '../../agent/index.ts';
import type { SourceChunk } from './chunks.ts';

/** An answer whose caller has left. */
interface LeftAnswer {
  /** Maximum time to continue reading, in milliseconds. If 0, `take` ends the answer at once. */
  readonly ms: number;
  /** Returns the next chunk. Rejects if there are no more chunks. */
  next(): Promise<SourceChunk>;
  /** Closes the connection to the provider. A pending `next` then rejects. */
  stop(): void;
  /**
   * Called once, with the usage if the provider has reported it. `isBroken` is true if the provider has failed. Must not
   * throw.
   */
  end(usage: Usage | undefined, isBroken: boolean): void;
}

/** Maximum number of left answers that are read at the same time. */
const MAX_ANSWERS = 100;

export function createLeftAnswers() {
  const open = new Map<LeftAnswer, Promise<void>>();
  let closed = false;

  async function read(answer: LeftAnswer): Promise<void> {
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      answer.stop();
    }, answer.ms);
    let usage: Usage | undefined;
    let isBroken = false;
    try {
      let chunk = await answer.next();
      while (chunk.kind !== 'finish') chunk = await answer.next();
      usage = chunk.usage;
    } catch {
      isBroken = !isTimedOut && !closed;
    }
    clearTimeout(timer);
    open.delete(answer);
    answer.stop();
    answer.end(usage, isBroken);
  }

  return {
    /**
     * Reads the rest of the answer. Ends it at once if `ms` is 0, if too many answers are being read, or after `close`.
     */
    take(answer: LeftAnswer): void {
      if (closed || answer.ms === 0 || open.size >= MAX_ANSWERS) {
        answer.stop();
        answer.end(undefined, false);
      } else open.set(answer, read(answer));
    },
    /** Ends all answers that are being read. Resolves when `end` has been called for each of them. */
    async close(): Promise<void> {
      closed = true;
      for (const answer of open.keys()) answer.stop();
      await Promise.all(open.values());
    },
  };
}
