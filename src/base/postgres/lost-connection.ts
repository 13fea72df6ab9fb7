import { backoffMs, pause } from '../wait.ts';
import { isConnectionLost } from './postgres-error.ts';

const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 1000;

export interface LostConnectionOptions {
  /** How long to continue with further attempts, in milliseconds. */
  readonly retryMs: number;
  /** Returns whether the work is no longer needed, because the store was closed. */
  readonly isClosed: () => boolean;
}

/**
 * Runs `work`, and runs it again after a pause if the database cannot be reached. If an attempt fails after `retryMs`,
 * or after the store was closed, rejects with the error of this attempt. Rejects at once if `work` fails for another
 * reason. `isRetry` is true for all attempts but the first. An earlier attempt may have been committed, so `work` must
 * take effect only once.
 */
export async function acrossLostConnections<Result>(
  work: (isRetry: boolean) => Promise<Result>,
  { retryMs, isClosed }: LostConnectionOptions,
): Promise<Result> {
  const deadline = performance.now() + retryMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt > 1);
    } catch (error) {
      if (!isConnectionLost(error) || isClosed() || performance.now() >= deadline) throw error;
      await pause(backoffMs(attempt, FIRST_RETRY_MS, MAX_RETRY_MS));
    }
  }
}
