/** The errors of a run. */

/** The reason why the runner refused a request. */
export type RunErrorCode =
  /** The agents cannot run together, for example because two agents have the same name. */
  | 'invalid-agents'
  /** The session already has a run with this id. */
  | 'run-exists'
  /** The session has no such run. */
  | 'unknown-run'
  /**
   * The run cannot be resumed with these answers. Either a question was not asked in this run or is already answered,
   * or the run has failed, was canceled, or was resumed by another process at the same time.
   */
  | 'not-open';

/**
 * The error for a request that the runner refused. Nothing was stored, and no agent ran.
 *
 *   if (error instanceof RunError && error.code === 'not-open') console.log('already answered');
 */
export class RunError extends Error {
  override readonly name = 'RunError';
  readonly code: RunErrorCode;
  constructor(code: RunErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * An error that ends the run. It is thrown by an agent, or by the run itself, for example when a limit is reached. The
 * run's error event has the same code.
 */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The error that ends all agents of a run. It is thrown after the run's error event. It is also the abort reason for
 * work that is still active when the run ends.
 */
export class RunOver extends Error {
  override readonly name = 'RunOver';
  constructor() {
    super('the run has ended');
  }
}

/**
 * The error for a failed session store. The run cannot store an error event, so the runner throws `cause` to its
 * caller.
 */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
  constructor(cause: unknown) {
    super('the session store failed', { cause });
  }
}
