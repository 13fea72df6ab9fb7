/**
 * The gateway's state machine, as data, and what makes any executor obey it.
 *
 * A2A allows every move that does not leave a terminal state; the gateway's table is stricter: nothing is completed,
 * fails or asks before it was `working`. `withTransitions` stands around an executor and puts the missing `working`
 * in. A status update that stays in its state (`working` again, with something to say) is no transition. The moves that
 * are the runtime's own keep to the table as well: an answer leads from `input-required` to `working`, a cancellation is
 * allowed from everywhere, and a task that ends for another reason is `working` first (`worksFirst`).
 */
import type { TaskState } from '../../protocol/index.ts';
import type { AgentExecutor, ExecutorEvent } from '../../tasks/index.ts';

/** The states of the table. Its `cancelled` is A2A's `canceled`. */
type TableState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

/** What may follow each state. */
const TRANSITIONS: Readonly<Record<TableState, readonly TableState[]>> = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'input-required', 'canceled'],
  'input-required': ['working', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
};

/** What the table calls a state of A2A; undefined: it has no place in it. */
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

/** Whether a task that is in `from` may enter `to`. Staying is no move: it may not. */
export function mayFollow(from: TaskState, to: TaskState): boolean {
  const [before, after] = [tableState(from), tableState(to)];
  return before !== undefined && after !== undefined && TRANSITIONS[before].includes(after);
}

/**
 * The executor, with every task's log as the table has it. What it yields against the table fails its task, with the
 * cause in our log. (One that `continues` opens new turns in tasks that are completed: that is between it and the
 * runtime, and not for the table.)
 */
export function withTransitions(executor: AgentExecutor): AgentExecutor {
  const { continues } = executor;
  return {
    execute: (context) => executor.execute(context),
    order: inOrder,
    worksFirst: true,
    ...(executor.begin && { begin: (context) => executor.begin?.(context) }),
    ...(executor.reply && { reply: (context) => executor.reply?.(context) }),
    ...(executor.admit && { admit: (context, task) => executor.admit?.(context, task) }),
    ...(executor.cancel && { cancel: (taskId, context) => executor.cancel?.(taskId, context) }),
    ...(executor.spans && { spans: (taskId) => executor.spans?.(taskId) === true }),
    ...(continues !== undefined && {
      continues: typeof continues === 'function' ? continues.bind(executor) : continues,
    }),
    ...(executor.resumes !== undefined && { resumes: executor.resumes }),
    ...(executor.givesAway !== undefined && { givesAway: executor.givesAway }),
  };
}

const WORKING: ExecutorEvent = { kind: 'status-update', state: 'working' };
const NOTHING: readonly ExecutorEvent[] = [];

function inOrder(state: TaskState, event: ExecutorEvent): readonly ExecutorEvent[] | undefined {
  if (event?.kind !== 'status-update') return state === 'submitted' ? [WORKING, event] : undefined;
  const to = event.state;
  if (to === state) {
    // Whoever says something while the task is submitted has begun to work on it.
    const says = event.message !== undefined || event.metadata !== undefined;
    if (!says) return NOTHING;
    return to === 'submitted' ? [{ ...event, state: 'working' }] : undefined;
  }
  if (mayFollow(state, to)) return undefined;
  if (state === 'submitted' && mayFollow('working', to)) return [WORKING, event];
  throw new TransitionError(state, to);
}

class TransitionError extends Error {
  override readonly name = 'TransitionError';

  constructor(from: TaskState, to: TaskState) {
    super(`the executor took its task from ${from} to ${to}, which the table does not allow`);
  }
}
