/**
 * Where spending and reservations are stored. `sqlite-store.ts` implements it in the register.
 *
 * All methods are atomic, also when several processes use the same database: two calls can never reserve the same part
 * of a budget.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { Grant, Limit, Need, BudgetRefusal } from './grant.ts';
import type { UsagePage, UsageQuery } from './usage.ts';

/** Who a call is charged to. */
export interface Payer {
  readonly workspace: string;
  readonly keyId: string;
  /** The subject of a JWT. */
  readonly subject: string;
  readonly taskId: string;
  readonly contextId: string;
}

/** The usage of one call. All numbers are safe integers. */
export interface Booking extends Payer {
  readonly day: string;
  readonly model: string;
  readonly agent: string;
  readonly currency: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanos: number;
  readonly failed: boolean;
}

/** A reserved call: who pays for it, and the day that it counts for. */
export interface ReservedCall extends Payer {
  readonly id: string;
  readonly day: string;
  readonly model: string;
  readonly agent: string;
}

/** A call that is about to be made. */
export interface PlannedBooking extends ReservedCall {
  readonly expiresAt: number;
  readonly need: Need;
  /** The budgets that must have room. There is at least one. */
  readonly limits: readonly Limit[];
}

/** The end of a call: the id of its reservation, if it was reserved, and its usage, if it used anything. */
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
  /** Stores how much of the answer has arrived, for the case of a crash. */
  seen(id: string, outputTokens: number): MaybePromise<void>;
  /** Adds the usage to the sums and deletes the reservation `id`. Without a usage, only deletes the reservation. */
  settle(settlements: readonly Settlement[]): MaybePromise<void>;
  /**
   * Takes over the reservation that an earlier process made for the task's call of an agent. Returns undefined if there
   * is none.
   */
  adopt(workspace: string, taskId: string): MaybePromise<ReservedCall | undefined>;
  /**
   * Counts the reservations of other processes, and those that have expired, with what was seen of them. Returns their
   * number. Reservations for calls of agents are left for `adopt` during the first minute.
   */
  recover(now: number): MaybePromise<number>;
  spent(limit: Limit): MaybePromise<{ readonly tokens: number; readonly nanos: number }>;
  usage(workspace: string, query: UsageQuery): MaybePromise<UsagePage>;
  /**
   * Merges the rows of days before the month into one row per month, deletes counters that are no longer used, and
   * deletes the rows and counters of tasks before the day.
   */
  fold(before: { readonly month: string; readonly taskDay: string }): MaybePromise<void>;
}
