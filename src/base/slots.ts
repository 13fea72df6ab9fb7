/**
 * Limits the number of concurrent calls. Further calls wait in a queue. Slots are shared fairly between callers (for
 * example workspaces): a free slot goes to the waiting caller that holds the fewest slots. While there are several
 * callers, the calls of one caller together cannot take all slots, so that the other callers do not wait for minutes.
 * But a single call may take all slots.
 *
 * A call may take several slots at once. For example, if each byte needs one slot, the total number of bytes of all
 * running calls is limited.
 */

import { steadyClock } from './steady-clock.ts';

/** Maximum number of calls of one caller in the queue. Further calls are rejected. */
const MAX_WAITING = 1000;
/**
 * Share of the slots that a single caller cannot take while there are other callers. With two or more slots, this is
 * at least one slot.
 */
const RESERVE = 1 / 4;
/** Time after a caller's last request during which the caller counts as present, in milliseconds. */
const SEEN_MS = 10 * 60_000;

export interface Slots {
  /** Returns whether the caller would get `count` slots without waiting. Default of `count`: 1. */
  free(caller: string, count?: number): boolean;
  /**
   * Waits for `count` slots and returns a function that releases them. Rejects with the signal's reason if the call
   * must wait and the signal is aborted. Rejects with a QueueFullError if the caller has too many calls in the queue.
   * If `count` is larger than the number of all slots, the call gets all slots.
   */
  take(caller: string, signal: AbortSignal, count?: number): Promise<() => void>;
}

/** The error for a caller that has too many calls in the queue. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  constructor() {
    super('too many calls are waiting');
  }
}

/** A call in a queue. */
interface Waiting {
  readonly count: number;
  readonly start: () => void;
}

/** The slots that a caller holds, and the caller's calls in the queue. */
interface Share {
  held: number;
  readonly queue: Set<Waiting>;
}

export function createSlots(max = Number.POSITIVE_INFINITY, clock: () => number = Date.now): Slots {
  const now = steadyClock(clock);
  const reserve = max > 1 && Number.isFinite(max) ? Math.max(1, Math.floor(max * RESERVE)) : 0;
  let taken = 0;
  /** The number of calls in all queues. */
  let waiting = 0;
  /** The callers that hold a slot or wait for one. */
  const shares = new Map<string, Share>();
  /** The two callers that asked for a slot most recently, with the times of their requests. */
  const seen = new Map<string, number>();

  function see(caller: string): void {
    seen.delete(caller);
    seen.set(caller, now());
    const [oldest] = seen.keys();
    if (seen.size > 2 && oldest !== undefined) seen.delete(oldest);
  }

  function isAlone(caller: string): boolean {
    for (const [other, time] of seen) {
      if (other !== caller && time > now() - SEEN_MS) return false;
    }
    return true;
  }

  /** Returns whether the caller's share allows more slots. A caller without slots may always take some. */
  function isFair(caller: string, held: number, count: number): boolean {
    return reserve === 0 || held === 0 || held + count <= max - reserve || isAlone(caller);
  }

  /**
   * Returns the call that gets the next slots. Only callers whose share allows their first waiting call are considered.
   * Of these, the caller with the fewest slots comes first.
   */
  function nextCall(): Waiting | undefined {
    if (waiting === 0) return undefined;
    let best: Share | undefined;
    for (const [caller, share] of shares) {
      const [first] = share.queue;
      if (!first || !isFair(caller, share.held, first.count)) continue;
      if (!best || share.held < best.held) best = share;
    }
    const [next] = best?.queue ?? [];
    return next;
  }

  function mayTake(caller: string, { held, queue }: Share, count: number): boolean {
    if (taken + count > max || queue.size > 0 || !isFair(caller, held, count)) return false;
    // A later call must not overtake a waiting call, because a call that waits for many slots might then never get
    // them.
    return nextCall() === undefined;
  }

  function shareOf(caller: string): Share {
    const known = shares.get(caller);
    if (known) return known;
    const made: Share = { held: 0, queue: new Set() };
    shares.set(caller, made);
    return made;
  }

  function drop(caller: string, { held, queue }: Share): void {
    if (held === 0 && queue.size === 0) shares.delete(caller);
  }

  /**
   * Counts slots for the caller. Returns a function that releases them. Only the first call of this function has an
   * effect.
   */
  function hold(caller: string, share: Share, count: number): () => void {
    taken += count;
    share.held += count;
    // `nextCall` takes the first of the callers with the fewest slots, so this caller moves to the end.
    shares.delete(caller);
    shares.set(caller, share);
    let holding = true;
    return () => {
      if (!holding) return;
      holding = false;
      taken -= count;
      share.held -= count;
      drop(caller, share);
      grant();
    };
  }

  /** Starts waiting calls, as long as there are enough free slots. */
  function grant(): void {
    for (;;) {
      const next = nextCall();
      if (!next || taken + next.count > max) return;
      next.start();
    }
  }

  const none: Share = { held: 0, queue: new Set() };
  return {
    free: (caller, count = 1) => mayTake(caller, shares.get(caller) ?? none, Math.min(count, max)),
    take: (caller, signal, wanted = 1) =>
      new Promise((resolve, reject) => {
        const count = Math.min(wanted, max);
        see(caller);
        const share = shareOf(caller);
        if (mayTake(caller, share, count)) {
          resolve(hold(caller, share, count));
          return;
        }
        if (share.queue.size >= MAX_WAITING) {
          reject(new QueueFullError());
          return;
        }
        const leave = () => {
          if (share.queue.delete(next)) waiting--;
          drop(caller, share);
          reject(signal.reason);
          // The next call may need fewer slots.
          grant();
        };
        const next: Waiting = {
          count,
          start() {
            if (share.queue.delete(next)) waiting--;
            signal.removeEventListener('abort', leave);
            resolve(hold(caller, share, count));
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        else {
          share.queue.add(next);
          waiting++;
        }
      }),
  };
}
