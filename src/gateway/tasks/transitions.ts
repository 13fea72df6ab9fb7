/**
 * The allowed transitions between the states of a task. They are stricter than in A2A: a task must be `working` before
 * it can be completed, fail or ask for input. The task handler (src/tasks) checks the events of executors against this
 * table (`ExecutionRules.transitions`). The handler's own transitions also comply with the table: an answer changes
 * `input-required` to `working`, and every unfinished task can be canceled.
 */
import type { Transitions } from '../../tasks/index.ts';

export const TRANSITIONS: Transitions = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'rejected', 'input-required', 'auth-required', 'canceled'],
  'input-required': ['working', 'canceled'],
  'auth-required': ['working', 'canceled'],
};
