/** How long a remote agent is waited for: in all, and without anything new. */
import { RemoteAgentError, type RemoteLimits } from '../../bridge/remote-limits.ts';

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
