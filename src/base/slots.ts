/**
 * Limits the number of concurrent calls. Further calls wait in a queue. Slots are shared fairly between callers (for
 * example workspaces): a free slot goes to the waiting caller that holds the fewest slots. While there are several
 * callers, no caller can take all slots, because its calls may take minutes.
 */

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
  /** Returns whether the caller would get a slot at once. */
  free(caller: string): boolean;
  /**
   * Waits for a slot and returns a function that releases it. Throws the signal's reason if the signal is aborted.
   * Throws a QueueFullError if the caller has too many calls in the queue.
   */
  take(caller: string, signal: AbortSignal): Promise<() => void>;
}

/** The error for a caller that has too many calls in the queue. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  constructor() {
    super('too many calls are waiting');
  }
}

interface Share {
  held: number;
  readonly queue: Set<() => void>;
}

export function createSlots(max = Number.POSITIVE_INFINITY, now: () => number = Date.now): Slots {
  const reserve = max > 1 && Number.isFinite(max) ? Math.max(1, Math.floor(max * RESERVE)) : 0;
  let taken = 0;
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

  function mayTake(caller: string, held: number): boolean {
    if (taken >= max) return false;
    return reserve === 0 || held < max - reserve || isAlone(caller);
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
   * Counts a slot for the caller. Returns a function that releases the slot. Only the first call of this function has
   * an effect.
   */
  function hold(caller: string, share: Share): () => void {
    taken++;
    share.held++;
    // Moves the caller to the end of the order in which callers get a slot.
    shares.delete(caller);
    shares.set(caller, share);
    let holding = true;
    return () => {
      if (!holding) return;
      holding = false;
      taken--;
      share.held--;
      drop(caller, share);
      grant();
    };
  }

  /**
   * Gives a free slot to the waiting caller with the fewest slots. If several callers have the same number of slots,
   * the first of them gets the slot.
   */
  function grant(): void {
    let best: Share | undefined;
    for (const [caller, share] of shares) {
      if (share.queue.size === 0 || !mayTake(caller, share.held)) continue;
      if (!best || share.held < best.held) best = share;
    }
    const [next] = best?.queue ?? [];
    next?.();
  }

  return {
    free: (caller) => mayTake(caller, shares.get(caller)?.held ?? 0),
    take: (caller, signal) =>
      new Promise((resolve, reject) => {
        see(caller);
        const share = shareOf(caller);
        if (share.queue.size === 0 && mayTake(caller, share.held)) {
          resolve(hold(caller, share));
          return;
        }
        if (share.queue.size >= MAX_WAITING) {
          reject(new QueueFullError());
          return;
        }
        const leave = () => {
          share.queue.delete(next);
          drop(caller, share);
          reject(signal.reason);
        };
        const next = () => {
          share.queue.delete(next);
          signal.removeEventListener('abort', leave);
          resolve(hold(caller, share));
        };
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        else share.queue.add(next);
      }),
  };
}
