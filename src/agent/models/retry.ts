/**
 * Asks a model again when the vendor had no time: too many requests, a server's error, no connection.
 *
 * Only while nothing of the answer has been passed on; what a person has seen is not taken back. The providers' own
 * models make each request once; so do those of a gateway, which has several places to ask and tries again by itself.
 */
import { backoffMs, pause } from '../../base/index.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';

/** How often a failed request to a model is repeated. */
export interface ModelRetryOptions {
  /** How often to ask in all. 4; 1: never again. */
  readonly attempts?: number;
  /** The first wait; each further one is twice as long, and each is shortened by up to a half at random. 500 ms. */
  readonly delayMs?: number;
  /** The longest wait of our own choice. 15 seconds. */
  readonly maxDelayMs?: number;
  /** The longest that a vendor may make us wait (Retry-After); when it asks for more, that is the end. 60 seconds. */
  readonly maxRetryAfterMs?: number;
  /** Told before each wait. Must not throw. */
  readonly onRetry?: (error: ModelError, attempt: number, delayMs: number) => void;
}

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

/** Who has waited until our own time-out is not made to wait as long again. */
export function mayTryAgain(error: unknown): error is ModelError {
  if (!(error instanceof ModelError) || !error.retryable) return false;
  return error.code !== 'timeout' || error.status !== undefined;
}
