/** Looks for expired tasks, again and again, one sweep after the other, until the signal is aborted. */
import type { Logger, RequestHandler } from '../../server/index.ts';

export interface SweeperOptions {
  readonly handler: Pick<RequestHandler, 'expire'>;
  readonly logger: Logger;
  readonly everyMs: number;
  /** How long a task that was ended by its expiry can still be read. */
  readonly keepExpiredMs: number;
  readonly signal: AbortSignal;
}

export function startSweeper(options: SweeperOptions): void {
  const { handler, logger, everyMs, keepExpiredMs, signal } = options;
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    // Nothing is lost when the process ends in between: what has expired is found by the next one.
    if (!signal.aborted) timer = setTimeout(() => void sweep(), everyMs).unref();
  }

  async function sweep(): Promise<void> {
    const { ended, removed } = await handler.expire({ keepMs: keepExpiredMs });
    if (ended + removed > 0) logger.info({ ended, removed }, 'expired tasks were looked after');
    schedule();
  }

  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  schedule();
}
