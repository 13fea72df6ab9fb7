/** The errors for calls that a budget has no room for. */
import { A2AError } from '../../protocol/index.ts';
import type { BudgetRefusal, Limit } from './grant.ts';
import type { PlannedBooking } from './store.ts';

/** Value of Retry-After while the rest of the budget is reserved for calls in progress. */
const WAIT_SECONDS = 1;
const PHRASES = { day: ' for today', month: ' for this month', total: '' } as const;

/** Returns the error for a call that a budget has no room for. */
export function refused(refusal: BudgetRefusal, { need }: PlannedBooking, time: number): A2AError {
  const { limit, why, tokensLeft } = refusal;
  const { calls, every, period } = limit;
  if (why === 'reserved') {
    return new A2AError(
      'rateLimited',
      `The rest of the budget of ${wordFor(limit)} is reserved for calls in progress: try again when they have ended`,
      { retryAfterSeconds: WAIT_SECONDS },
    );
  }
  const enoughFor = tokensLeft !== undefined && tokensLeft > need.inputTokens;
  const message =
    why === 'calls'
      ? `This task has made all its ${calls} calls: start a new task`
      : tokensLeft === undefined || tokensLeft <= 0 || enoughFor
        ? `The budget of ${wordFor(limit)} is used up${PHRASES[every]}`
        : `The budget of ${wordFor(limit)} has ${tokensLeft} tokens left${PHRASES[every]}, but the request has about ${need.inputTokens}: send a shorter request`;
  return new A2AError('rateLimited', message, {
    reason: 'BUDGET_EXHAUSTED',
    ...(period.endsAt !== undefined && {
      retryAfterSeconds: Math.max(1, Math.ceil((period.endsAt - time) / 1000)),
    }),
  });
}

const WORDS = {
  workspace: 'this workspace',
  key: 'this key',
  subject: 'this user',
  task: 'this task',
} as const;

/** Returns the word for the holder of a budget in error messages. */
export function wordFor({ holder }: Limit): string {
  return WORDS[holder.kind];
}
