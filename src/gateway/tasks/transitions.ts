/**
 * The gateway's state machine, as data. It is stricter than A2A's: a task is `working` before it is completed, fails or
 * asks for input. The runtime enforces it for the events of executors (`ExecutionRules.transitions`). The runtime's own
 * transitions keep to it as well: an answer leads from `input-required` to `working`, and every unfinished task can be
 * canceled.
 */
import type { TaskState } from '../../protocol/index.ts';
import type { Transitions } from '../../tasks/index.ts';

/** The states that the REST dialect knows. Its `cancelled` is A2A's `canceled`. */
type TableState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

export const TRANSITIONS: Transitions = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'rejected', 'input-required', 'auth-required', 'canceled'],
  'input-required': ['working', 'canceled'],
  'auth-required': ['working', 'canceled'],
};

/** The dialect's name for a state of A2A; undefined: it has none. */
export function tableState(state: TaskState): TableState | undefined {
  switch (state) {
    case 'rejected':
      return 'failed';
    case 'auth-required':
      return 'input-required';
    case 'unknown':
    case 'unspecified':
      return undefined;
    default:
      return state;
  }
}
