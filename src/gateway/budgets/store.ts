/**
 * The interface of the store for spending and reservations. `sqlite-store.ts` and `postgres-store.ts` implement it, in
 * the database of the gateway's register.
 *
 * Every change of usage and reservations is atomic, so two calls never reserve the same part of a budget. Several
 * gateways may share a PostgreSQL database. Only one gateway may use a SQLite database, because the gateway assumes
 * that all other processes that made reservations have ended.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { BudgetRefusal, Counter, Grant, Limit, Need } from './grant.ts';
import type { UsagePage, UsageQuery } from './usage.ts';

/**
 * How long resumed tasks can take over the reservations of their calls to agents. With SQLite, this time begins when
 * the process starts. With PostgreSQL, it begins when another node finds that the node with the reservations is gone.
 */
export const ADOPT_MS = 60_000;
/**
 * Approximate maximum number of rows of tasks in a workspace. After every TRIM_STEP new rows, the oldest rows above
 * this number are deleted. The number is limited because a query may read all rows of a workspace. With SQLite, this
 * blocks the event loop for tens of milliseconds.
 */
export const TASK_ROWS = 25_000;
/** Number of new rows after which the oldest rows above TASK_ROWS are deleted. */
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

/** A call to a model or an agent. The call counts towards the budget periods that contain `day`. */
export interface PaidCall extends Payer {
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
  /** Reserves the call in all its budgets, or in none. */
  reserve(planned: PlannedBooking): MaybePromise<Grant | BudgetRefusal>;
  /** Like `reserve`, but only checks whether the call could be reserved now. */
  check(planned: PlannedBooking): MaybePromise<Grant | BudgetRefusal>;
  /** Stores how many tokens of the answer have arrived, so that these tokens are counted after a crash. */
  seen(id: string, outputTokens: number): MaybePromise<unknown>;
  /**
   * For each settlement, adds the usage to the sums and deletes the reservation `id`. A missing usage is zero. If
   * `recover` has counted an estimate for the reservation, adds only the difference between the usage and the estimate.
   * If `id` is given, but its reservation no longer exists, adds nothing, because the call has already been counted.
   */
  settle(settlements: readonly Settlement[]): MaybePromise<void>;
  /**
   * Takes over the reservation that another process made for the task's call to an agent. Returns undefined if there is
   * no such reservation.
   */
  adopt(workspace: string, taskId: string): MaybePromise<ReservedCall | undefined>;
  /**
   * Ends three kinds of reservations:
   * - reservations of processes that are gone. Those for calls to agents are kept for a minute, so that `adopt` can
   *   take them over;
   * - expired reservations;
   * - reservations that may have been stored although `reserve` failed.
   * For the first two kinds, counts the prompts and the parts of the answers that had arrived. Returns the number of
   * ended reservations. This number includes every reservation of the third kind, even if it was not stored.
   */
  recover(now: number): MaybePromise<number>;
  /** Returns the budget's counter in the current period. */
  spent(limit: Limit): MaybePromise<Omit<Counter, 'calls'>>;
  /** Reads the usage of a workspace, or of all workspaces if it is undefined. */
  usage(workspace: string | undefined, query: UsageQuery): MaybePromise<UsagePage>;
  /**
   * Merges the rows of days before `month` into rows of months, and deletes the counters that were last used before
   * `month` and have no reserved amount. Deletes the rows of tasks, the counters of tasks, and the reservations ended
   * by `recover`, if they are older than `taskDay`.
   */
  fold(before: { readonly month: string; readonly taskDay: string }): MaybePromise<void>;
}
