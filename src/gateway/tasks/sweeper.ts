/** Ends and deletes expired tasks at regular intervals, until the signal is aborted. */
import type { Logger, RequestHandler } from '../../tasks/index.ts';
import type { Meter } from '../telemetry/telemetry.ts';

export interface SweeperOptions {
  readonly handler: Pick<RequestHandler, 'expire'>;
  readonly logger: Logger;
  readonly everyMs: number;
  /** How long a task can still be read after it was ended because it expired. */
  readonly keepExpiredMs: number;
  readonly signal: AbortSignal;
  readonly meter?: Meter | undefined;
}

export function startSweeper(options: SweeperOptions): void {
  const { handler, logger, everyMs, keepExpiredMs, signal, meter } = options;
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    // The timer must not keep the process alive. After a restart, the next process finds the expired tasks.
    if (!signal.aborted) timer = setTimeout(() => void sweep(), everyMs).unref();
  }

  async function sweep(): Promise<void> {
    const { ended, removed } = await handler.expire({ keepMs: keepExpiredMs });
    meter?.count('parley_tasks_expired_total', { outcome: 'ended' }, ended);
    meter?.count('parley_tasks_expired_total', { outcome: 'deleted' }, removed);
    if (ended + removed > 0) logger.info({ ended, removed }, 'ended or deleted expired tasks');
    schedule();
  }

  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  schedule();
}
