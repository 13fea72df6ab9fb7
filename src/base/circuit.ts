/**
 * Circuit breakers. Each target has its own circuit. A target is, for example, a model of a provider or the host of
 * webhooks. While a circuit is closed, calls are allowed. After several consecutive failures, the circuit opens for
 * some time and rejects calls. Then it allows one call, the probe. The outcome of the probe closes the circuit or opens
 * it again.
 *
 * One caller must not be able to block a target for the others, because its own requests may be the cause of the
 * failures. So a caller's failures open the circuit only for this caller. The circuit opens for all callers only if the
 * calls of several callers fail. Each caller then has its own probe. A caller is, for example, a workspace or the owner
 * of tasks.
 *
 * A target may also ask for a pause, for example with Retry-After. The gateway's key for a provider is shared by all
 * callers, so the pause applies to all of them. But the other callers wait for at most `openMs` and then try again.
 */
import { BoundedMap } from './bounded-map.ts';
import { steadyClock } from './steady-clock.ts';

export interface CircuitSettings {
  /** Number of consecutive failures within `windowMs` that opens the circuit. */
  readonly failures: number;
  readonly windowMs: number;
  /** How long the circuit stays open before it allows a probe, in milliseconds. */
  readonly openMs: number;
  /** Minimum age of the first of these failures when the circuit opens, in milliseconds. Default: 0. */
  readonly minMs?: number;
}

/** The error with which a target asked for a pause. */
export interface PauseCause {
  readonly retryAfterMs?: number | undefined;
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
  /** Called if the call was canceled. The state of the target remains unknown. */
  leave(): void;
}

/** The time until a call may be allowed, and the reason. */
export interface CircuitWait<Cause> {
  readonly ms: number;
  /** The error with which the target asked for a pause, or undefined if the wait has another reason. */
  readonly cause: Cause | undefined;
}

export interface Circuits<Cause extends PauseCause = PauseCause> {
  /**
   * Returns the permit for a call, or undefined if the circuit is open or a probe is in progress. Ignores a pause,
   * which only `wait` reports.
   */
  enter(target: string, caller: string): Permit | undefined;
  /** Returns the time until the next call may be allowed, or undefined if a call is allowed now. */
  wait(target: string, caller: string): CircuitWait<Cause> | undefined;
  /**
   * Records that a target has asked for a pause, so that `wait` reports it. `caller` is the caller whose call failed
   * with `error`.
   */
  pause(target: string, caller: string, error: Cause): void;
  /** Applies a report from another process about a target. */
  hear(news: CircuitNews<Cause>): void;
  /** Whether a circuit has opened for at least one caller, and no probe has closed it yet. */
  readonly open: boolean;
}

/** The report that a circuit opened, or that a target asked for a pause. */
export interface CircuitNews<Cause> {
  readonly target: string;
  /**
   * The caller for which the circuit opened, or whose call led to the pause. Undefined if the circuit opened for all
   * callers.
   */
  readonly caller?: string | undefined;
  readonly ms: number;
  /** The error with which the target asked for a pause, or undefined if the circuit opened. */
  readonly cause?: Cause | undefined;
}

/** The wait that is reported while a probe is in progress. The actual wait is unknown. */
const PROBE_WAIT_MS = 1000;
/** Maximum length of a pause, in milliseconds. A longer pause is shortened to this length. */
const MAX_PAUSE_MS = 3_600_000;
/**
 * Maximum number of targets, and maximum number of callers per target. The least recently used entries are dropped.
 */
const MAX_TARGETS = 512;
const MAX_CALLERS = 512;

/** The state of a target's circuit for one caller. */
interface View {
  failures: number[];
  openUntil: number | undefined;
  probing: boolean;
}

/** The circuit of one target. */
interface Circuit<Cause> {
  readonly views: BoundedMap<View>;
  /** The latest failures of all callers. */
  failures: { readonly caller: string; readonly time: number }[];
  /** Time until which the circuit is open for all callers. It stays set until a probe succeeds. */
  openUntil: number | undefined;
  pause: { caller: string; since: number; until: number; cause: Cause } | undefined;
}

export function createCircuits<Cause extends PauseCause = PauseCause>(
  settings: CircuitSettings,
  clock: () => number,
  tell: (news: CircuitNews<Cause>) => void = () => {},
): Circuits<Cause> {
  const now = steadyClock(clock);
  const { failures: maxFailures, windowMs, openMs, minMs = 0 } = settings;
  /** Maximum number of one caller's failures that count for all callers. */
  const maxOfOne = Math.max(1, Math.floor(maxFailures / 2));
  /** The circuits of the targets that have had failures or a pause. */
  const circuits = new BoundedMap<Circuit<Cause>>(MAX_TARGETS);

  function circuitOf(target: string): Circuit<Cause> {
    const known = circuits.get(target);
    if (known) return known;
    const views = new BoundedMap<View>(MAX_CALLERS);
    const made: Circuit<Cause> = { views, failures: [], openUntil: undefined, pause: undefined };
    circuits.set(target, made);
    return made;
  }

  function viewOf(circuit: Circuit<Cause>, caller: string): View {
    const known = circuit.views.get(caller);
    if (known) return known;
    const made: View = { failures: [], openUntil: undefined, probing: false };
    circuit.views.set(caller, made);
    return made;
  }

  /** Counts a failure for the caller and, up to `maxOfOne`, for all callers. Does nothing while the circuit is open. */
  function fail(target: string, caller: string): void {
    const circuit = circuitOf(target);
    const time = now();
    const view = viewOf(circuit, caller);
    if (view.openUntil !== undefined || circuit.openUntil !== undefined) return;
    view.failures = latest(view.failures.filter((each) => each > time - windowMs)).concat(time);
    if (isOver(view.failures, time)) trip(target, caller, view);
    const recent = latest(circuit.failures.filter((each) => each.time > time - windowMs));
    const ofCaller = recent.filter((each) => each.caller === caller).length;
    if (ofCaller < maxOfOne) recent.push({ caller, time });
    circuit.failures = recent;
    const isShared = recent.some((each) => each.caller !== caller);
    const times = recent.map((each) => each.time);
    if (isShared && isOver(times, time)) {
      circuit.openUntil = time + openMs;
      circuit.failures = [];
      tell({ target, ms: openMs });
    }
  }

  /** Makes room for one more failure. Keeps the first failure, because `minMs` is measured from it. */
  function latest<Failure>(failures: Failure[]): Failure[] {
    return failures.length < maxFailures ? failures : failures.toSpliced(1, 1);
  }

  function isOver(failures: readonly number[], time: number): boolean {
    return failures.length >= maxFailures && time - (failures[0] ?? time) >= minMs;
  }

  function trip(target: string, caller: string, view: View): void {
    view.openUntil = now() + openMs;
    view.failures = [];
    tell({ target, caller, ms: openMs });
  }

  function closed(target: string, caller: string): Permit {
    return {
      begun() {},
      // A success of a call that started before the circuit opened does not close the circuit, and does not end a
      // probe.
      ok() {
        const circuit = circuits.get(target);
        if (!circuit) return;
        const view = circuit.views.get(caller);
        if (view && view.openUntil === undefined && !view.probing) circuit.views.delete(caller);
        circuit.failures = [];
        if (circuit.views.size === 0 && !circuit.pause && circuit.openUntil === undefined) {
          circuits.delete(target);
        }
      },
      failed: () => fail(target, caller),
      leave() {},
    };
  }

  /**
   * Returns the permit of a probe. If `begun` or `ok` is called first, the circuit closes. If `failed` is called first,
   * the circuit opens again for this caller. After `leave`, another call may be the probe. A failure after `begun`
   * counts like the failure of any other call.
   */
  function probe(target: string, circuit: Circuit<Cause>, caller: string): Permit {
    const view = viewOf(circuit, caller);
    const after = closed(target, caller);
    view.probing = true;
    let deciding = true;
    const decide = (): boolean => {
      const was = deciding;
      if (was) view.probing = false;
      deciding = false;
      return was;
    };
    const begun = (): void => {
      if (!decide()) return;
      view.openUntil = undefined;
      circuit.openUntil = undefined;
    };
    return {
      begun,
      ok() {
        begun();
        after.ok();
      },
      failed() {
        if (decide()) trip(target, caller, view);
        else after.failed();
      },
      leave() {
        decide();
      },
    };
  }

  /** Returns the time until which the circuit is open for the caller, or undefined if it is closed. */
  function openUntil(circuit: Circuit<Cause>, view: View | undefined): number | undefined {
    if (view?.openUntil === undefined) return circuit.openUntil;
    return Math.max(view.openUntil, circuit.openUntil ?? 0);
  }

  function pauseOf({ pause }: Circuit<Cause>, caller: string): CircuitWait<Cause> | undefined {
    if (!pause) return undefined;
    const { since, until, cause } = pause;
    const ms = (caller === pause.caller ? until : Math.min(until, since + openMs)) - now();
    return ms > 0 ? { ms, cause } : undefined;
  }

  return {
    enter(target, caller) {
      const circuit = circuits.get(target);
      const view = circuit?.views.get(caller);
      const until = circuit && openUntil(circuit, view);
      if (!circuit || until === undefined) return closed(target, caller);
      if (view?.probing || now() < until) return undefined;
      return probe(target, circuit, caller);
    },
    wait(target, caller) {
      const circuit = circuits.get(target);
      if (!circuit) return undefined;
      const paused = pauseOf(circuit, caller);
      if (paused) return paused;
      const view = circuit.views.get(caller);
      const until = openUntil(circuit, view);
      if (until === undefined) return undefined;
      const ms = view?.probing ? PROBE_WAIT_MS : until - now();
      return ms > 0 ? { ms, cause: undefined } : undefined;
    },
    pause(target, caller, cause) {
      const ms = Math.min(cause.retryAfterMs ?? openMs, MAX_PAUSE_MS);
      const since = now();
      if (ms <= 0) return;
      circuitOf(target).pause = { caller, since, until: since + ms, cause };
      tell({ target, caller, ms, cause });
    },
    hear({ target, caller, ms, cause }) {
      const circuit = circuitOf(target);
      const since = now();
      const until = since + Math.min(ms, cause === undefined ? openMs : MAX_PAUSE_MS);
      if (cause !== undefined) {
        circuit.pause = { caller: caller ?? '', since, until, cause };
        return;
      }
      const opened = caller === undefined ? circuit : viewOf(circuit, caller);
      opened.openUntil = Math.max(opened.openUntil ?? 0, until);
      opened.failures = [];
    },
    get open() {
      for (const { openUntil: shared, views } of circuits.values()) {
        if (shared !== undefined) return true;
        for (const view of views.values()) if (view.openUntil !== undefined) return true;
      }
      return false;
    },
  };
}
