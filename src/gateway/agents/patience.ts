/** How long a remote agent is waited for: in all, without anything new, and while it is away. */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError } from '../../client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { RemoteAgentError, type RemoteLimits } from '../../bridge/index.ts';

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 5000;
/** So many times in a row it may be away. */
export const MAX_FAILURES = 6;

export class Patience {
  readonly #limits: Pick<Required<RemoteLimits>, 'quietMs' | 'totalMs'>;
  readonly #end: (reason: Error) => void;
  readonly #begun = performance.now();
  #news = this.#begun;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    limits: Pick<Required<RemoteLimits>, 'quietMs' | 'totalMs'>,
    end: (reason: Error) => void,
  ) {
    this.#limits = limits;
    this.#end = end;
    this.#arm();
  }

  /** Something new came. Costs a look at the clock, no timer. */
  news(): void {
    this.#news = performance.now();
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    const { quietMs, totalMs } = this.#limits;
    const now = performance.now();
    const total = this.#begun + totalMs - now;
    const quiet = this.#news + quietMs - now;
    if (total < 1) return this.#end(timeout(`it took longer than ${totalMs} ms`));
    if (quiet < 1) return this.#end(timeout(`it said nothing for ${quietMs} ms`));
    this.#timer = setTimeout(() => this.#arm(), Math.min(total, quiet));
  }
}

function timeout(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-timeout', message);
}

/** Tries again while the agent is away, and for a few seconds in all. */
export async function patiently<Result>(
  attempt: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error) || failures >= MAX_FAILURES) throw error;
    }
    await delay(pause(failures + 2), undefined, { signal });
  }
}

export function isPassing(error: unknown): boolean {
  if (error instanceof A2AError)
    return error.kind === 'unavailable' || error.kind === 'rateLimited';
  return error instanceof ConnectionError && error.reason !== 'closed';
}

export function pause(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 1.6 ** (attempt - 1), LAST_PAUSE_MS);
}
