/** The names and numbers of the protobuf enumerations. */
import type { Role } from '../message.ts';
import { TaskState } from '../task.ts';

/** The names of the states in 1.0. The 0.3 state `unknown` is written as unspecified, because 1.0 has no such state. */
export const STATE_NAMES: Readonly<Record<TaskState, string>> = {
  unspecified: 'TASK_STATE_UNSPECIFIED',
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  unknown: 'TASK_STATE_UNSPECIFIED',
};

/** The protobuf names of the states, in the order of their numbers. */
const NUMBERED = Object.values(STATE_NAMES);

/** The states in 1.0 by their protobuf names and numbers. */
export const STATES_V1: ReadonlyMap<unknown, TaskState> = new Map<unknown, TaskState>(
  TaskState.exclude(['unknown']).options.flatMap((state): [unknown, TaskState][] => [
    [NUMBERED.indexOf(STATE_NAMES[state]), state],
    [STATE_NAMES[state], state],
  ]),
);

/**
 * The states in 0.3 by their own names, and by the protobuf names and numbers that REST peers use. In 0.3, the protobuf
 * name of `canceled` is spelled `CANCELLED`.
 */
export const STATES_V03: ReadonlyMap<unknown, TaskState> = new Map<unknown, TaskState>([
  ...STATES_V1,
  ...TaskState.options.map((state): [string, TaskState] => [state, state]),
  [0, 'unknown'],
  ['TASK_STATE_UNSPECIFIED', 'unknown'],
  ['TASK_STATE_CANCELLED', 'canceled'],
]);

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
};

export const ROLES_V1: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ['ROLE_USER', 'user'],
  ['ROLE_AGENT', 'agent'],
  [1, 'user'],
  [2, 'agent'],
]);

export const ROLES_V03: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ...ROLES_V1,
  ['user', 'user'],
  ['agent', 'agent'],
]);
