/**
 * The counters of budgets that a transaction has locked. The transaction changes them in memory and then stores all
 * changes together.
 */
import type { Row } from '../register/register.ts';
import type { Counter, Limit } from './grant.ts';
import { atMost, counterIn, holdersOf, holderName, periodsOf } from './rows.ts';
import type { Booking, Payer } from './store.ts';

/** A counter with its name. `usedOn` is the day of its last change, or empty if this transaction did not change it. */
export interface StoredCounter extends Counter {
  readonly holder: string;
  readonly period: string;
  readonly currency: string;
  readonly usedOn: string;
}

type Changing = { -readonly [Name in keyof StoredCounter]: StoredCounter[Name] };

/** A call that counts towards the budget periods that contain `day`. */
type Call = Payer & { readonly day: string };

/** A reserved amount. */
interface Amount {
  readonly tokens: number;
  readonly nanos: number;
  readonly currency: string;
}

export class Counters {
  readonly #counters = new Map<string, Changing[]>();
  readonly #changed = new Set<Changing>();

  constructor(rows: readonly Row[]) {
    for (const row of rows) {
      const holder = String(row['holder']);
      const period = String(row['period']);
      const name = `${holder}\n${period}`;
      const counter = { holder, period, currency: String(row['currency']), usedOn: '' };
      const known = this.#counters.get(name) ?? [];
      known.push({ ...counter, ...counterIn(row) });
      this.#counters.set(name, known);
    }
  }

  /** Returns the names of all counters that the calls may change, without repetitions. */
  static namesFor(calls: readonly Call[]): { readonly holder: string; readonly period: string }[] {
    const names = new Map<string, { holder: string; period: string }>();
    for (const call of calls) {
      for (const holder of Object.values(holdersOf(call))) {
        for (const period of periods(call.day))
          names.set(`${holder}\n${period}`, { holder, period });
      }
    }
    return [...names.values()];
  }

  /** Returns the counter of a limit, or undefined if it has no row. */
  of({ holder, period, currency }: Limit): Counter | undefined {
    const found = this.#counters.get(`${holderName(holder)}\n${period.name}`);
    return found?.find((counter) => counter.currency === currency);
  }

  /** Counts the call and reserves the amount, in all counters of the call. */
  hold(call: Call, amount: Amount): void {
    for (const counter of this.#ofCall(call)) {
      this.#changed.add(counter);
      counter.calls++;
      counter.usedOn = call.day;
      counter.reservedTokens = atMost(counter.reservedTokens + amount.tokens);
      counter.reservedNanos = atMost(counter.reservedNanos + nanosIn(amount, counter));
    }
  }

  /** Ends a reservation. */
  free(call: Call, amount: Amount): void {
    for (const counter of this.#ofCall(call)) {
      this.#changed.add(counter);
      counter.usedOn = call.day;
      counter.reservedTokens = Math.max(counter.reservedTokens - amount.tokens, 0);
      counter.reservedNanos = Math.max(counter.reservedNanos - nanosIn(amount, counter), 0);
    }
  }

  /**
   * Adds usage. The counter of the task is changed only if `inTask` is true, which means that the call had a
   * reservation.
   */
  use(booking: Booking, inTask: boolean): void {
    const { taskHolder } = holdersOf(booking);
    for (const counter of this.#ofCall(booking)) {
      if (counter.holder === taskHolder && !inTask) continue;
      this.#changed.add(counter);
      counter.usedOn = booking.day;
      counter.tokens = atMost(counter.tokens + booking.inputTokens + booking.outputTokens);
      counter.nanos = atMost(counter.nanos + nanosIn(booking, counter));
    }
  }

  changed(): readonly StoredCounter[] {
    return [...this.#changed];
  }

  *#ofCall(call: Call): Generator<Changing> {
    for (const holder of Object.values(holdersOf(call))) {
      for (const period of periods(call.day)) {
        yield* this.#counters.get(`${holder}\n${period}`) ?? [];
      }
    }
  }
}

function nanosIn({ nanos, currency }: Pick<Amount, 'nanos' | 'currency'>, counter: StoredCounter) {
  return currency === counter.currency ? nanos : 0;
}

function periods(day: string): readonly string[] {
  return [...Object.values(periodsOf(day)), 'total'];
}
