/** Applies an executor's table of state transitions (`ExecutionRules.transitions`) to its events. */
import type { TaskState } from '../../protocol/index.ts';
import type { ExecutorEvent, Transitions } from './executor.ts';

export const WORKING: ExecutorEvent = { kind: 'status-update', state: 'working' };
const NOTHING: readonly ExecutorEvent[] = [];

/**
 * Returns the events to append instead of `event` for a task in `state`, or undefined to append `event` itself.
 *
 * - A status update that repeats the current state is dropped, unless it has a message or metadata. An update with a
 *   message or metadata that repeats `submitted` becomes `working`.
 * - If the task is `submitted`, `working` is inserted before an artifact, and before a state that the table allows only
 *   after `working`.
 *
 * Throws if the table does not allow the transition.
 */
export function inOrder(
  table: Transitions,
  state: TaskState,
  event: ExecutorEvent,
): readonly ExecutorEvent[] | undefined {
  if (event?.kind !== 'status-update') return state === 'submitted' ? [WORKING, event] : undefined;
  const to = event.state;
  if (to === state) {
    if (event.message === undefined && event.metadata === undefined) return NOTHING;
    return to === 'submitted' ? [{ ...event, state: 'working' }] : undefined;
  }
  if (table[state]?.includes(to)) return undefined;
  if (state === 'submitted' && table.working?.includes(to)) return [WORKING, event];
  throw new Error(`the executor's rules do not allow the transition from ${state} to ${to}`);
}
