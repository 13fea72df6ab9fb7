/** When to try again, and how long to wait before it. */
import { backoffMs, pause, type MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ConnectionError } from '../connection/errors.ts';

/** How often and how soon a stream reconnects. */
export interface RetryOptions {
  /** How many attempts in a row may bring nothing new. 5; 0: no retry. */
  readonly attempts?: number | undefined;
  /** The first delay. Each further delay is twice as long, and each is shortened by up to a half at random. 250 ms. */
  readonly delayMs?: number | undefined;
  /** The longest delay. 10 seconds. */
  readonly maxDelayMs?: number | undefined;
  /** Called before each delay with the number of the attempt and the delay. Must not throw. */
  readonly onRetry?: ((attempt: number, delayMs: number) => void) | undefined;
}

export const DEFAULT_ATTEMPTS = 5;
/** The longest delay that an agent may ask for with Retry-After. */
const MAX_RETRY_AFTER_MS = 60_000;

/** The delay after so many failures in a row, the last of them with `error`. */
export function retryDelay(failures: number, retry: RetryOptions = {}, error?: unknown): number {
  const { delayMs = 250, maxDelayMs = 10_000 } = retry;
  const delay = backoffMs(failures, delayMs, maxDelayMs);
  const asked = error instanceof A2AError ? (error.detail.retryAfterSeconds ?? 0) * 1000 : 0;
  return Math.max(delay, Math.min(asked, MAX_RETRY_AFTER_MS));
}

/** Repeats the call while the agent is unavailable. */
export async function retrying<Result>(
  call: () => MaybePromise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || failures > DEFAULT_ATTEMPTS) throw error;
      await pause(retryDelay(failures), signal);
    }
  }
}

/** Whether the same request may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof A2AError) return isOverload(error);
  return error instanceof ConnectionError && error.reason !== 'closed';
}

export function isOverload({ kind }: A2AError): boolean {
  return kind === 'unavailable' || kind === 'rateLimited';
}

/** Whether the connection failed, and not what was said on it. */
export function isConnectionFailure(error: unknown): error is ConnectionError {
  return (
    error instanceof ConnectionError &&
    (error.reason === 'unreachable' || error.reason === 'broken' || error.reason === 'timeout')
  );
}
