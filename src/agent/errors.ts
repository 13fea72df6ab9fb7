/** What goes wrong with a run. */
import { elide, MAX_RESPONSE_LENGTH } from './tool-result.ts';

export type RunErrorCode =
  /** The agents do not fit together; nothing was run. */
  | 'invalid-agents'
  /** The session has a run of this id already. */
  | 'run-exists'
  /** The session has no such run. */
  | 'unknown-run'
  /** The question was never asked in this run, has its answer, or the run is over. */
  | 'not-open';

/** A request that the runner refuses: nothing was stored, nothing was run. */
export class RunError extends Error {
  override readonly name = 'RunError';
  readonly code: RunErrorCode;
  constructor(code: RunErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Ends the run with an error event of this code. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The run's error event is out; everybody on the way up just leaves. */
export class RunOver extends Error {
  override readonly name = 'RunOver';
  constructor() {
    super('the run is over');
  }
}

/** The store failed: no event can say so, the caller gets the cause. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
  constructor(cause: unknown) {
    super('the session store failed', { cause });
  }
}

/** What was thrown, whatever it is, in words that can be stored. */
export function messageOf(error: unknown): string {
  try {
    const said: unknown = error instanceof Error ? error.message : error;
    return elide(String(said), MAX_RESPONSE_LENGTH);
  } catch {
    return 'something that cannot be read was thrown';
  }
}
