/** Ends and deletes expired tasks, and deletes old tasks, at regular intervals, until the signal is aborted. */
import type { Expired } from './expiry.ts';
import type { RequestHandler } from './handler.ts';
import type { Logger } from './log/logger.ts';
import type { Retention } from './retention.ts';

export interface SweeperOptions {
  readonly handler: Pick<RequestHandler, 'expire'>;
  readonly logger: Logger;
  readonly everyMs: number;
  /**
   * How long a task can still be read after it was ended because it expired, in milliseconds. Default: the handler's
   * limit `keepExpiredMs`.
   */
  readonly keepExpiredMs?: number | undefined;
  /** How long finished tasks are kept, if they do not expire earlier. Default: forever. */
  readonly retention?: Retention | undefined;
  readonly signal: AbortSignal;
  /** Called after each sweep. Must not throw. */
  readonly onSwept?: ((swept: Expired) => void) | undefined;
}

export function startSweeper(options: SweeperOptions): void {
  const { handler, logger, everyMs, keepExpiredMs, retention, signal, onSwept } = options;
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    // The timer must not keep the process alive. After a restart, the next process finds the expired tasks.
    if (!signal.aborted) timer = setTimeout(() => void sweep(), everyMs).unref();
  }

  async function sweep(): Promise<void> {
    const swept = await handler.expire({ keepMs: keepExpiredMs, retention });
    const { ended, removed, old = 0 } = swept;
    onSwept?.(swept);
    if (ended + removed > 0) logger.info({ ended, removed }, 'ended or deleted expired tasks');
    if (old > 0) logger.info({ removed: old }, 'deleted old tasks');
    schedule();
  }

  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  schedule();
}
