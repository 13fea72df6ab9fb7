/**
 * Retries a request after a temporary failure of the vendor: too many requests, a server error, no connection.
 *
 * A request is retried only before the first chunk of its answer, because a chunk that was shown cannot be withdrawn.
 * The AI SDK's models do not retry. Parley's model gateway does not use `withRetry`: after a failure, it uses another
 * provider.
 */
import { backoffMs, pause } from '../../base/index.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';

/** The settings for retries of failed requests to a model. */
export interface ModelRetryOptions {
  /** Maximum number of attempts. With 1, there are no retries. Default: 4. */
  readonly attempts?: number;
  /**
   * Delay before the first retry, in milliseconds. The delay doubles with each retry and is randomly shortened by up
   * to half. Default: 500.
   */
  readonly delayMs?: number;
  /** Maximum delay between two attempts, unless the vendor asks for a longer delay. Default: 15 seconds. */
  readonly maxDelayMs?: number;
  /**
   * Maximum delay that the vendor may ask for (Retry-After). If the vendor asks for a longer delay, the request
   * fails. Default: 60 seconds.
   */
  readonly maxRetryAfterMs?: number;
  /** Called before each delay. `attempt` is the number of the attempt that follows the delay. Must not throw. */
  readonly onRetry?: (error: ModelError, attempt: number, delayMs: number) => void;
}

/** Returns the same model, but with retries. */
export function withRetry(model: Model, options: ModelRetryOptions = {}): Model {
  const { attempts = 4, delayMs = 500, maxDelayMs = 15_000, maxRetryAfterMs = 60_000 } = options;

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    for (let attempt = 1; ; attempt++) {
      let begun = false;
      try {
        for await (const chunk of model.generate(request, signal)) {
          begun = true;
          yield chunk;
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (begun || attempt >= attempts || !mayTryAgain(error)) throw error;
        const asked = error.retryAfterMs ?? 0;
        if (asked > maxRetryAfterMs) throw error;
        const wait = Math.max(backoffMs(attempt, delayMs, maxDelayMs), asked);
        options.onRetry?.(error, attempt + 1, wait);
        await pause(wait, signal);
      }
    }
  }

  return { ...model, generate };
}

/**
 * Returns whether to retry after this error. There is no retry after our own timeout, because the caller has already
 * waited long enough.
 */
export function mayTryAgain(error: unknown): error is ModelError {
  if (!(error instanceof ModelError) || !error.retryable) return false;
  return error.code !== 'timeout' || error.status !== undefined;
}
