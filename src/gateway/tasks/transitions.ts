/**
 * The gateway's state machine, as data. It is stricter than A2A's: a task is `working` before it is completed, fails or
 * asks for input. The runtime enforces it for the events of executors (`ExecutionRules.transitions`). The runtime's own
 * transitions follow it as well: an answer changes `input-required` to `working`, and every unfinished task can be
 * canceled.
 */
import type { Transitions } from '../../tasks/index.ts';

export const TRANSITIONS: Transitions = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'rejected', 'input-required', 'auth-required', 'canceled'],
  'input-required': ['working', 'canceled'],
  'auth-required': ['working', 'canceled'],
};
