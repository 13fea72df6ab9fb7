/**
 * Decides whether the budgets have room for a call, and how long its answer may be.
 *
 * A call is granted if every budget has room for its prompt and a small answer. Its task must also have calls left. The
 * answer may be as long as the caller requested, but not longer than any budget allows.
 */
import type { Budget, Period } from './budget.ts';

/** Number of tokens in a small answer. */
export const SMALL_ANSWER = 16;
/**
 * Numbers of tokens to reserve for an answer if neither the request nor the model limits it. If there is room for
 * LONGEST_ANSWER, it is reserved, and the request is sent without a limit. Otherwise the request is sent with a limit
 * of at most USUAL_ANSWER, which most models accept.
 */
export const LONGEST_ANSWER = 131_072;
export const USUAL_ANSWER = 8192;
/** Money is counted in billionths of its currency. */
export const NANOS = 1_000_000_000;

/** The holder of a budget. `id` identifies the key, subject or task, and is empty for a workspace. */
export interface Holder {
  readonly kind: 'workspace' | 'key' | 'subject' | 'task';
  readonly workspace: string;
  readonly id: string;
}

/** A budget of a holder in its current period. */
export interface Limit {
  readonly holder: Holder;
  readonly every: Budget['period'];
  readonly period: Period;
  readonly calls?: number | undefined;
  readonly tokens?: number | undefined;
  readonly nanos?: number | undefined;
  /** Currency of the budget, or an empty string if the budget is not in money. */
  readonly currency: string;
}

/** The tokens and the money that a call needs. */
export interface Need {
  readonly inputTokens: number;
  readonly inputNanos: number;
  /** The price of an output token, in billionths. */
  readonly outputPrice: number;
  readonly currency: string;
  /**
   * Maximum number of tokens in the answer, or undefined if there is no limit. Zero for embeddings and for calls to
   * agents.
   */
  readonly maxOutputTokens: number | undefined;
}

export interface Counter {
  readonly calls: number;
  readonly tokens: number;
  readonly nanos: number;
  readonly reservedTokens: number;
  readonly reservedNanos: number;
}

export interface Grant {
  readonly granted: true;
  /** The limit on output tokens in the request to the provider. Undefined if the request has no such limit. */
  readonly maxOutputTokens: number | undefined;
  /** The reserved tokens and money, for the prompt and the answer. */
  readonly tokens: number;
  readonly nanos: number;
}

export interface BudgetRefusal {
  readonly granted: false;
  readonly limit: Limit;
  /**
   * The reason for the refusal. `calls`: the task has reached its maximum number of calls. `spent`: the rest of the
   * budget is too small. `reserved`: the rest is large enough, but a part of it is reserved for calls in progress.
   */
  readonly why: 'calls' | 'spent' | 'reserved';
  /**
   * The remaining part of the budget, without regard to reservations. Infinity for a measure that the budget does not
   * limit.
   */
  readonly left: { readonly tokens: number; readonly nanos: number };
}

export function grantOf(
  need: Need,
  counters: readonly { readonly limit: Limit; readonly counter: Counter }[],
): Grant | BudgetRefusal {
  const { maxOutputTokens: wanted, inputTokens, inputNanos, outputPrice } = need;
  const smallest = smallestAnswer(need);
  let longest = Infinity;
  for (const { limit, counter } of counters) {
    const free = longestAnswer(need, limit, counter, true);
    longest = Math.min(longest, free);
    const noCalls = limit.calls !== undefined && counter.calls >= limit.calls;
    if (free >= smallest && !noCalls) continue;
    const reserved = longestAnswer(need, limit, counter, false) >= smallest;
    const { tokens = Infinity, nanos = Infinity } = limit;
    return {
      granted: false,
      limit,
      why: noCalls ? 'calls' : reserved ? 'reserved' : 'spent',
      left: { tokens: tokens - counter.tokens, nanos: nanos - counter.nanos },
    };
  }
  const unlimited = wanted === undefined && longest >= LONGEST_ANSWER;
  const length = unlimited ? LONGEST_ANSWER : Math.min(wanted ?? USUAL_ANSWER, longest);
  return {
    granted: true,
    maxOutputTokens: unlimited ? undefined : length,
    tokens: inputTokens + length,
    nanos: inputNanos + Math.ceil(length * outputPrice),
  };
}

/** Returns the number of output tokens that a budget must have room for. */
export function smallestAnswer({ maxOutputTokens }: Need): number {
  return Math.min(SMALL_ANSWER, maxOutputTokens ?? SMALL_ANSWER);
}

/**
 * Returns the maximum number of output tokens that the budget allows. If `reserved` is true, reservations count as
 * spent. The result is negative if the budget is used up, or if there is no room for the prompt.
 */
function longestAnswer(need: Need, limit: Limit, counter: Counter, reserved: boolean): number {
  const { tokens = Infinity, nanos = Infinity } = limit;
  const tokensLeft = tokens - counter.tokens - (reserved ? counter.reservedTokens : 0);
  const nanosLeft = nanos - counter.nanos - (reserved ? counter.reservedNanos : 0);
  // Without this check, a call that costs nothing would be granted although the budget is used up.
  if (tokensLeft <= 0 || nanosLeft <= 0) return -1;
  const moneyAfterPrompt =
    limit.currency === need.currency ? nanosLeft - need.inputNanos : nanosLeft;
  if (moneyAfterPrompt < 0) return -1;
  const byMoney =
    need.outputPrice > 0 && limit.currency === need.currency
      ? Math.floor(moneyAfterPrompt / need.outputPrice)
      : Infinity;
  return Math.min(tokensLeft - need.inputTokens, byMoney);
}
