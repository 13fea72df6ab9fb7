/** So many calls at a time; the others stand in line. */
import { ModelError } from '../../agent/index.ts';

/** Who comes when so many wait already is turned away. */
const MAX_LINE = 1000;

export interface Slots {
  readonly free: boolean;
  /** Gives a function that hands the slot back. Throws the signal's reason once it is aborted. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(max = Number.POSITIVE_INFINITY): Slots {
  let taken = 0;
  const line = new Set<() => void>();

  function giveBack(): void {
    const [next] = line;
    if (next === undefined) taken--;
    else next();
  }

  /** Each holder hands back once, however often it tries. */
  function held(): () => void {
    let holding = true;
    return () => {
      if (holding) giveBack();
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
        if (line.size >= MAX_LINE) {
          reject(new ModelError('overloaded', 'too many calls wait already', { retryable: true }));
          return;
        }
        const leave = () => {
          line.delete(next);
          reject(signal.reason);
        };
        const next = () => {
          line.delete(next);
          signal.removeEventListener('abort', leave);
          resolve(held());
        };
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        else line.add(next);
      }),
  };
}
