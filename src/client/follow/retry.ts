/** Decides when to try again, and how long to wait before the next attempt. */
import { backoffMs, pause, type MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ConnectionError } from '../connection/errors.ts';

/** The options for the reconnection of a stream. */
export interface RetryOptions {
  /** Maximum number of consecutive attempts that deliver nothing new. Default: 5. With 0, there is no retry. */
  readonly attempts?: number | undefined;
  /**
   * The first delay. Default: 250 ms. Each further delay is twice as long, up to `maxDelayMs`. Each delay is shortened
   * at random, by up to half.
   */
  readonly delayMs?: number | undefined;
  /** Maximum delay, unless the agent asks for a longer one with Retry-After. Default: 10 seconds. */
  readonly maxDelayMs?: number | undefined;
  /** Called before each delay with the number of the attempt and the delay. Must not throw. */
  readonly onRetry?: ((attempt: number, delayMs: number) => void) | undefined;
}

export const DEFAULT_ATTEMPTS = 5;
/** Maximum delay that an agent may request with Retry-After. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Returns the delay in milliseconds after this number of consecutive failures. `error` is the last failure. */
export function retryDelay(failures: number, retry: RetryOptions = {}, error?: unknown): number {
  const { delayMs = 250, maxDelayMs = 10_000 } = retry;
  const delay = backoffMs(failures, delayMs, maxDelayMs);
  const asked = error instanceof A2AError ? (error.detail.retryAfterSeconds ?? 0) * 1000 : 0;
  return Math.max(delay, Math.min(asked, MAX_RETRY_AFTER_MS));
}

/**
 * Repeats the call while it fails with a transient error, at most DEFAULT_ATTEMPTS times. Throws the last error. If the
 * signal is aborted during a delay, throws the signal's reason.
 */
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

/** Returns whether the same request may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof A2AError) return isOverload(error);
  return (
    error instanceof ConnectionError && error.reason !== 'closed' && error.reason !== 'untrusted'
  );
}

/** Returns whether the agent is overloaded or limits the number of requests. */
export function isOverload({ kind }: A2AError): boolean {
  return kind === 'unavailable' || kind === 'rateLimited';
}

/** Returns whether the agent refuses the caller. */
export function isDenied({ kind }: A2AError): boolean {
  return kind === 'unauthenticated' || kind === 'forbidden';
}

/** Returns whether the connection itself failed. An error that the agent returned is not a connection failure. */
export function isConnectionFailure(error: unknown): error is ConnectionError {
  return (
    error instanceof ConnectionError &&
    (error.reason === 'unreachable' || error.reason === 'broken' || error.reason === 'timeout')
  );
}
