import type { ExecutionContext } from './executor.ts';

/**
 * The controller of `signal` in the contexts that the runtime makes. An agent function may wait for an answer longer than
 * one execution lasts. With the controller, its signal can still be aborted then, and it needs no second signal.
 */
export const CONTROLLER: unique symbol = Symbol('controller');

export interface RuntimeContext extends ExecutionContext {
  readonly [CONTROLLER]?: AbortController;
}
