/**
 * A circuit breaker for a provider. While it is closed, every call is allowed. After several failures in a row it opens
 * for a while and rejects all calls. Then it allows one call, the probe: its outcome closes or reopens the circuit.
 */
export interface CircuitSettings {
  /** The number of consecutive failures within `windowMs` that opens the circuit. */
  readonly failures: number;
  readonly windowMs: number;
  readonly openMs: number;
}

/** An allowed call. It ends once, by one of `ok`, `failed` and `leave`. */
export interface Permit {
  /** The answer has started. A probe closes the circuit now, because the whole answer may take minutes. */
  begun(): void;
  ok(): void;
  failed(): void;
  /** The caller left: the call says nothing about the provider. */
  leave(): void;
}

export interface Circuit {
  /** Undefined: the circuit is open. */
  enter(): Permit | undefined;
  readonly open: boolean;
  /** Milliseconds until a call may be allowed. 0: now. */
  readonly waitMs: number;
}

/** The wait while a probe is in progress: its duration is unknown. */
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
    // Calls from before the circuit opened have no effect while it is open.
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
  /** A call that decides whether the circuit closes. Afterwards it counts like any other call. */
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
