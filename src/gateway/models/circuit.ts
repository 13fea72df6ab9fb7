/**
 * Leaves a provider alone that fails. Closed: everybody may ask. After some failures in a row it opens for a while, and
 * nobody may; then one call is let through, and what becomes of it decides.
 */
export interface CircuitSettings {
  /** In a row, and none of them older than `windowMs`. */
  readonly failures: number;
  readonly windowMs: number;
  readonly openMs: number;
}

/** A call that was let through. It ends once, in one of three ways. */
export interface Permit {
  /** Before the end: an answer comes. It may take minutes, and the others need not wait for the whole of it. */
  begun(): void;
  ok(): void;
  failed(): void;
  /** It ended, and says nothing about the provider: the caller left. */
  leave(): void;
}

export interface Circuit {
  /** Undefined: not now. */
  enter(): Permit | undefined;
  readonly open: boolean;
  /** Until it is worth asking again, in milliseconds. 0: it is now. */
  readonly waitMs: number;
}

/** While the one call is under way that decides, nobody knows for how long. */
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
    // Calls from before it opened come home while it is open: they change nothing.
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
  /** The one call that decides. Once it has, it is a call like any other. */
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
