import type { ExecutionContext } from './executor.ts';

/**
 * The controller of `signal` in the contexts that the runtime makes. An agent function may wait for an answer longer
 * than one execution lasts. With the controller, the function's signal can still be aborted after the execution. So the
 * function needs no second signal.
 */
export const CONTROLLER: unique symbol = Symbol('controller');

export interface RuntimeContext extends ExecutionContext {
  readonly [CONTROLLER]?: AbortController;
}
