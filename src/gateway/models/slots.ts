/** Limits the number of concurrent calls. Further calls wait in a queue. */
import { ModelError } from '../../agent/index.ts';

/** Maximum number of calls in the queue. Further calls are rejected. */
const MAX_WAITING = 1000;

export interface Slots {
  readonly free: boolean;
  /** Waits for a slot and returns a function that releases it. If the signal is aborted, throws its reason. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(max = Number.POSITIVE_INFINITY): Slots {
  let taken = 0;
  const queue = new Set<() => void>();

  function release(): void {
    const [next] = queue;
    if (next === undefined) taken--;
    else next();
  }

  /** Returns a function that releases a slot. Only its first call has an effect. */
  function held(): () => void {
    let holding = true;
    return () => {
      if (holding) release();
      holding = false;
    };
  }

  return {
    get free() {
      return taken < max;
    },
    take: (signal) =>
      new Promise((resolve, reject) => {
        if (taken < max) {
          taken++;
          resolve(held());
          return;
        }
        if (queue.size >= MAX_WAITING) {
          reject(
            new ModelError('overloaded', 'too many calls are waiting for this provider', {
              retryable: true,
            }),
          );
          return;
        }
        const leave = () => {
          queue.delete(next);
          reject(signal.reason);
        };
        const next = () => {
          queue.delete(next);
          signal.removeEventListener('abort', leave);
          resolve(held());
        };
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        else queue.add(next);
      }),
  };
}
