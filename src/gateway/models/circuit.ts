/**
 * A circuit breaker for a provider. While it is closed, every call is allowed. After several consecutive failures, it
 * opens for some time and rejects all calls. Then it allows one call, the probe. The outcome of the probe closes the
 * circuit or opens it again.
 */
export interface CircuitSettings {
  /** The number of consecutive failures within `windowMs` that opens the circuit. */
  readonly failures: number;
  readonly windowMs: number;
  readonly openMs: number;
}

/** The permission for one call. At the end of the call, exactly one of `ok`, `failed` and `leave` is called. */
export interface Permit {
  /**
   * Called when the answer has started. At this point a probe closes the circuit, because the whole answer may take
   * minutes.
   */
  begun(): void;
  ok(): void;
  failed(): void;
  /** Called if the call was canceled. The state of the provider remains unknown. */
  leave(): void;
}

export interface Circuit {
  /** Returns the permit for a call, or undefined if the circuit is open. */
  enter(): Permit | undefined;
  readonly open: boolean;
  /** Number of milliseconds until a call may be allowed, or 0 if it is allowed now. */
  readonly waitMs: number;
}

/** The value of `waitMs` while a probe is in progress. The duration of the probe is unknown. */
const PROBE_WAIT_MS = 1000;

export function createCircuit(settings: CircuitSettings, now: () => number): Circuit {
  let failures: number[] = [];
  let openUntil: number | undefined;
  let probing = false;

  function trip(): void {
    openUntil = now() + settings.openMs;
    failures = [];
  }

  const closed: Permit = {
    begun() {},
    // Calls that started before the circuit opened have no effect while it is open.
    ok() {
      if (openUntil === undefined) failures = [];
    },
    failed() {
      if (openUntil !== undefined) return;
      const since = now() - settings.windowMs;
      failures = [...failures.filter((time) => time > since), now()];
      if (failures.length >= settings.failures) trip();
    },
    leave() {},
  };
  /**
   * Returns the permit of a probe. The first call of `begun`, `ok` or `failed` closes the circuit or opens it again. A
   * failure after `begun` counts like the failure of any other call.
   */
  function probe(): Permit {
    let deciding = true;
    const decide = (): boolean => {
      const was = deciding;
      if (was) probing = false;
      deciding = false;
      return was;
    };
    const begun = (): void => {
      if (decide()) openUntil = undefined;
    };
    return {
      begun,
      ok() {
        begun();
        closed.ok();
      },
      failed() {
        if (decide()) trip();
        else closed.failed();
      },
      leave() {
        decide();
      },
    };
  }

  return {
    enter() {
      if (openUntil === undefined) return closed;
      if (probing || now() < openUntil) return undefined;
      probing = true;
      return probe();
    },
    get open() {
      return openUntil !== undefined;
    },
    get waitMs() {
      if (openUntil === undefined) return 0;
      return probing ? PROBE_WAIT_MS : Math.max(0, openUntil - now());
    },
  };
}
