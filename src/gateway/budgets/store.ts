/**
 * The interface of the store for spending and reservations. `sqlite-store.ts` and `postgres-store.ts` implement it in the
 * register.
 *
 * All methods are atomic, even if several processes use the same database. So two calls can never reserve the same part
 * of a budget.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { BudgetRefusal, Counter, Grant, Limit, Need } from './grant.ts';
import type { UsagePage, UsageQuery } from './usage.ts';

/**
 * How long resumed tasks can take over the reservations of their calls to agents: after the start of the process
 * (SQLite), or after the node that made the reservations is gone (PostgreSQL).
 */
export const ADOPT_MS = 60_000;
/**
 * Maximum number of rows of tasks in a workspace. Above this number, new rows replace the oldest ones. Reading all rows
 * of a SQLite database blocks the event loop for tens of milliseconds.
 */
export const TASK_ROWS = 25_000;
/** Number of new rows after which the oldest rows are deleted. */
export const TRIM_STEP = 256;

/** The caller and the task that a call is charged to. */
export interface Payer {
  readonly workspace: string;
  readonly keyId: string;
  /** The subject of the JWT, or an empty string if the caller has a key. */
  readonly subject: string;
  readonly taskId: string;
  readonly contextId: string;
}

/** A call to a model or an agent. The call counts towards the budgets of `day`. */
interface PaidCall extends Payer {
  readonly day: string;
  readonly model: string;
  readonly agent: string;
}

/** The usage of one call. All numbers are safe integers. */
export interface Booking extends PaidCall {
  readonly currency: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanos: number;
  readonly failed: boolean;
}

/** A call with a reservation. */
export interface ReservedCall extends PaidCall {
  readonly id: string;
}

/** A call that is about to be made. */
export interface PlannedBooking extends ReservedCall {
  readonly expiresAt: number;
  readonly need: Need;
  /** The budgets that must have room. There is at least one. */
  readonly limits: readonly Limit[];
}

/**
 * The end of a call. `id` identifies the reservation, if there is one. `booking` is the usage, if the call used
 * anything.
 */
export interface Settlement {
  readonly id?: string | undefined;
  readonly booking?: Booking | undefined;
}

export interface BudgetStore {
  /** Reserves the call in all its budgets, or in none. With `dry`, only checks whether this would succeed. */
  reserve(
    planned: PlannedBooking,
    how?: { readonly dry: boolean },
  ): MaybePromise<Grant | BudgetRefusal>;
  /** Stores how much of the answer has arrived, so that it is counted after a crash. */
  seen(id: string, outputTokens: number): MaybePromise<unknown>;
  /** Adds the usage to the sums and deletes the reservation `id`. Without a usage, only deletes the reservation. */
  settle(settlements: readonly Settlement[]): MaybePromise<void>;
  /**
   * Takes over the reservation that an earlier process made for the task's call to an agent. Returns undefined if there
   * is no such reservation.
   */
  adopt(workspace: string, taskId: string): MaybePromise<ReservedCall | undefined>;
  /**
   * Ends three kinds of reservations: reservations of processes that are gone, expired reservations, and reservations
   * that may have been stored although `reserve` failed. For the first two kinds, counts the prompts and the parts of
   * the answers that had arrived. Returns the number of these reservations, in which every reservation of the third kind
   * is counted, even if it was not stored. If a process is gone, its reservations for calls to agents are kept for a
   * minute, so that `adopt` can take them over.
   */
  recover(now: number): MaybePromise<number>;
  /** Returns the budget's counter in the current period. */
  spent(limit: Limit): MaybePromise<Omit<Counter, 'calls'>>;
  /** Reads the usage of a workspace, or of all workspaces if it is undefined. */
  usage(workspace: string | undefined, query: UsageQuery): MaybePromise<UsagePage>;
  /**
   * Merges the rows of days before `month` into one row per month, and deletes counters that are no longer used.
   * Deletes the rows and counters of tasks that are older than `taskDay`.
   */
  fold(before: { readonly month: string; readonly taskDay: string }): MaybePromise<void>;
}
