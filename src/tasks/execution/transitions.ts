/** Keeps an executor's events within its table of state transitions (`ExecutionRules.transitions`). */
import type { TaskState } from '../../protocol/index.ts';
import type { ExecutorEvent, Transitions } from './executor.ts';

export const WORKING: ExecutorEvent = { kind: 'status-update', state: 'working' };
const NOTHING: readonly ExecutorEvent[] = [];

/**
 * The events that go into the log instead of `event`, for a task in `state`; undefined: the event itself.
 *
 * A status update that repeats the state is no transition; it is dropped unless it carries a message or metadata. While
 * the task is `submitted`, such an update counts as `working`. Throws for a transition outside the table.
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
  throw new Error(`the executor moved its task from ${state} to ${to}, which its rules forbid`);
}
