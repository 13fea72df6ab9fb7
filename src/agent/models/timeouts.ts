/** The time limits for one answer of a vendor: until the first event, between two events, and in total. */
import { ModelError } from '../model.ts';
import { vendorError, type ErrorSource } from './vendor-error.ts';

/** The time limits for one answer. */
export interface TimeoutOptions {
  /** Maximum time until the vendor's first event. Default: `idleTimeoutMs`. */
  readonly firstEventTimeoutMs?: number;
  /**
   * Maximum time between two events of the vendor. Default: 5 minutes, because some models think for this long
   * without output.
   */
  readonly idleTimeoutMs?: number;
  /** Maximum total time of an answer. Default: 30 minutes. */
  readonly timeoutMs?: number;
}

const IDLE_TIMEOUT_MS = 5 * 60_000;
const TIMEOUT_MS = 30 * 60_000;

/**
 * Returns the limits of an answer that arrives as a whole. It has no events before its end, so only the total limit
 * applies.
 */
export function totalTimeout(timeoutMs = TIMEOUT_MS): TimeoutOptions {
  return { timeoutMs, idleTimeoutMs: timeoutMs, firstEventTimeoutMs: timeoutMs };
}

export interface Timeouts {
  /**
   * The signal for the request. It is aborted when the caller's signal is aborted, when a timeout expires, or by `end`.
   * The abort reason shows which of these happened first.
   */
  readonly signal: AbortSignal;
  /** Waits for `step` and returns its result. Rejects if `step` rejects, or when `signal` is aborted. */
  step<T>(step: PromiseLike<T>): Promise<T>;
  /** Starts or restarts the idle timeout. The function is fast enough to be called for every piece of the answer. */
  readonly expect: () => void;
  /** Stops the idle timeout while nothing is expected from the vendor. */
  readonly hold: () => void;
  /** Stops the timeout for the first event. It must be called when this event has arrived. */
  readonly clearFirst: () => void;
  /**
   * Returns the error to throw if the answer fails: the timeout's error, or the vendor's error if no timeout has
   * expired. Throws the reason of the caller's signal if this signal is aborted.
   */
  reason(error: unknown): unknown;
  end(): void;
}

export function startTimeouts(
  source: ErrorSource,
  signal: AbortSignal,
  options: TimeoutOptions,
): Timeouts {
  const { idleTimeoutMs = IDLE_TIMEOUT_MS, timeoutMs = TIMEOUT_MS } = options;
  const { firstEventTimeoutMs = idleTimeoutMs } = options;
  const lifetime = new AbortController();
  let leave: ((reason: unknown) => void) | undefined;
  const stop = (reason: unknown): void => {
    lifetime.abort(reason);
    leave?.(reason);
  };
  const timeOut = (what: string): void =>
    stop(new ModelError('timeout', `${source.name} ${what}: try again later`, { retryable: true }));
  const onAbort = (): void => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  const overall = setTimeout(
    timeOut,
    timeoutMs,
    `did not finish its answer within ${timeoutMs} ms`,
  );
  const begin = `did not begin to answer within ${firstEventTimeoutMs} ms`;
  const first = setTimeout(timeOut, firstEventTimeoutMs, begin);
  /** The time at which the wait for the vendor began, or undefined if nothing is expected from the vendor. */
  let silentSince: number | undefined;
  // The timer is not restarted for every piece of the answer, because that would take more time than the rest of the
  // processing. When it expires before the idle timeout is over, a new timer waits for the remaining time.
  let idle = setTimeout(checkIdle, idleTimeoutMs);
  function checkIdle(): void {
    const silentMs = silentSince === undefined ? 0 : performance.now() - silentSince;
    if (silentMs >= idleTimeoutMs) timeOut(`sent nothing for ${idleTimeoutMs} ms`);
    else idle = setTimeout(checkIdle, Math.ceil(idleTimeoutMs - silentMs));
  }
  const expect = (): void => void (silentSince = performance.now());
  const hold = (): void => void (silentSince = undefined);
  return {
    signal: lifetime.signal,
    clearFirst: () => clearTimeout(first),
    expect,
    hold,
    step<T>(step: PromiseLike<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        leave = reject;
        expect();
        step.then((value) => {
          hold();
          resolve(value);
        }, reject);
        if (lifetime.signal.aborted) reject(lifetime.signal.reason);
      });
    },
    reason(error) {
      signal.throwIfAborted();
      return lifetime.signal.aborted ? lifetime.signal.reason : vendorError(error, source);
    },
    end() {
      clearTimeout(overall);
      clearTimeout(first);
      clearTimeout(idle);
      signal.removeEventListener('abort', onAbort);
      leave = undefined;
      // The abort closes the connection if the answer was not read completely.
      lifetime.abort(new Error('the answer is no longer needed'));
    },
  };
}
