/** The errors for calls that a budget has no room for. */
import { A2AError } from '../../protocol/index.ts';
import { type BudgetRefusal, type Limit, NANOS, type Need, smallestAnswer } from './grant.ts';
import type { PlannedBooking } from './store.ts';

/** Value of Retry-After while the rest of the budget is reserved for calls in progress. */
const WAIT_SECONDS = 1;
const PHRASES = { day: ' for today', month: ' for this month', total: '' } as const;

/** Returns the error for a call that a budget has no room for. */
export function refused(refusal: BudgetRefusal, plan: PlannedBooking, time: number): A2AError {
  const { need } = plan;
  const { limit, why } = refusal;
  const { endsAt } = limit.period;
  if (why === 'reserved') {
    return new A2AError(
      'rateLimited',
      `The rest of the budget of ${wordFor(limit)} is reserved for calls in progress: try again when they have ended`,
      { retryAfterSeconds: WAIT_SECONDS },
    );
  }
  const message =
    why === 'calls'
      ? `This task has made all its ${limit.calls} calls: start a new task`
      : `The budget of ${wordFor(limit)} ${tooSmall(refusal, plan)}`;
  return new A2AError('rateLimited', message, {
    reason: 'BUDGET_EXHAUSTED',
    ...(endsAt !== undefined &&
      fitsWhole(limit, need) && {
        retryAfterSeconds: Math.max(1, Math.ceil((endsAt - time) / 1000)),
      }),
  });
}

/** Returns the end of the message: the rest of the budget, the tokens or money that the request needs, and advice. */
function tooSmall({ limit, left }: BudgetRefusal, { need, agent }: PlannedBooking): string {
  const { currency, every } = limit;
  const phrase = PHRASES[every];
  if (left.tokens <= 0 || left.nanos <= 0)
    return `is used up${phrase}: ${advice(limit, need, false)}`;
  const answer = smallestAnswer(need);
  const forAnswer = answer * need.outputPrice;
  const inTokens = left.tokens < need.inputTokens + answer;
  const [rest, prompt, reply] = inTokens
    ? [`${left.tokens} tokens`, need.inputTokens, answer]
    : [money(left.nanos, currency), need.inputNanos, forAnswer];
  const say = (number: number) => (inTokens ? String(number) : money(number, currency));
  const parts =
    reply > 0 ? ` (${say(prompt)} for the prompt and at least ${say(reply)} for the answer)` : '';
  // A call to an agent needs the same tokens and money for every length of the request.
  const mayBeShorter = agent === '' && (inTokens ? left.tokens > answer : left.nanos > forAnswer);
  return `has ${rest} left${phrase}, but the request needs about ${say(prompt + reply)}${parts}: ${advice(limit, need, mayBeShorter)}`;
}

/** Returns advice for a caller who is not the operator of the gateway. */
function advice(limit: Limit, need: Need, mayBeShorter: boolean): string {
  const { holder, period } = limit;
  const ways: string[] = [];
  if (mayBeShorter) ways.push('send a shorter request');
  if (period.endsAt !== undefined && fitsWhole(limit, need)) {
    const renewed = new Date(period.endsAt).toISOString().slice(0, 16).replace('T', ' ');
    ways.push(`wait until the budget is renewed (${renewed} UTC)`);
  }
  ways.push(holder.kind === 'task' ? 'start a new task' : 'ask for a larger budget');
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(ways);
}

/**
 * Returns whether an unused budget has room for the prompt and a small answer. If not, it does not help to wait for the
 * next period.
 */
function fitsWhole({ tokens = Infinity, nanos = Infinity, currency }: Limit, need: Need): boolean {
  const answer = smallestAnswer(need);
  if (tokens < need.inputTokens + answer) return false;
  return currency !== need.currency || nanos >= need.inputNanos + answer * need.outputPrice;
}

function money(nanos: number, currency: string): string {
  // The number has no exponent, and no zeros at its end.
  const amount = (nanos / NANOS).toFixed(9).replace(/\.?0+$/, '');
  return `${amount} ${currency}`;
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
