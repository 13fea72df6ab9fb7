/** Groups of task states. This file imports no schema. */
import type { TaskState } from './task.ts';

/**
 * Returns whether the state is terminal. No event follows a terminal state. The exception is `completed`, if the agent
 * continues completed tasks.
 */
export function isTerminal(state: TaskState): boolean {
  return (
    state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'
  );
}

/** Returns whether a task in this state has ended without success. */
export function isFailure(state: TaskState): boolean {
  return isTerminal(state) && state !== 'completed';
}

/**
 * Returns whether the agent waits for input or authentication. In this state, a blocking send returns, and a stream
 * ends unless it belongs to a session (`ExecutionRules.isSession`).
 */
export function isInterrupted(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** Returns whether the state is terminal or interrupted. No further event follows until a client acts. */
export function isSettled(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}
