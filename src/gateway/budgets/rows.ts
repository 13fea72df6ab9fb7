/** The names of holders, the sums of usage, and the readers of rows, for both budget stores. */
import type { Row } from '../register/register.ts';
import type { Counter, Holder } from './grant.ts';
import type { Booking, Payer, ReservedCall, Settlement } from './store.ts';

/** A vendor may report absurdly large numbers. Sums are limited, so that they can be stored. */
export const MAX = Number.MAX_SAFE_INTEGER;

/** The total usage of several calls. They have the same caller, day, model or agent, and currency. */
export interface Sum extends Omit<Booking, 'failed'> {
  uses: number;
  failures: number;
  inputTokens: number;
  outputTokens: number;
  nanos: number;
}

/**
 * The usage of one call. `inTask` is true if the call had a reservation. Only such calls are added to the counters of
 * tasks.
 */
export interface BookedUse {
  readonly booking: Booking;
  readonly inTask: boolean;
  /** True if an estimate of the call's usage was counted before, and `booking` is the difference to this estimate. */
  readonly isRest: boolean;
}

export function holdersOf({ workspace, keyId, subject, taskId }: Payer) {
  return {
    workspaceHolder: holderName({ kind: 'workspace', workspace, id: '' }),
    keyHolder: holderName({ kind: 'key', workspace, id: keyId }),
    subjectHolder: holderName({ kind: 'subject', workspace, id: subject }),
    taskHolder: holderName({ kind: 'task', workspace, id: taskId }),
  };
}

/** Returns the holder's name in the table. It is unique, because the name of a workspace contains no slash. */
export function holderName({ kind, workspace, id }: Holder): string {
  return `${kind}:${workspace}/${id}`;
}

export function periodsOf(day: string) {
  return { day, month: day.slice(0, 7) };
}

/**
 * Adds a call to its sum. Calls that end together often have the same caller, and one statement then stores their sum.
 * If `isRest` is true, the call itself was already counted, and only its tokens and cost are added.
 */
export function addTo(
  sums: Map<string, Sum>,
  booking: Booking,
  {
    isRest = false,
    name = callerOf(booking).join('\n'),
  }: { readonly isRest?: boolean; readonly name?: string } = {},
): void {
  const sum = sums.get(name);
  const uses = isRest ? 0 : 1;
  if (!sum) {
    const { failed, ...first } = booking;
    sums.set(name, { ...first, uses, failures: failed ? uses : 0 });
    return;
  }
  sum.uses += uses;
  if (booking.failed) sum.failures += uses;
  sum.inputTokens = atMost(sum.inputTokens + booking.inputTokens);
  sum.outputTokens = atMost(sum.outputTokens + booking.outputTokens);
  sum.nanos = atMost(sum.nanos + booking.nanos);
}

/** Returns the values of the columns that identify a row of `spending`. */
export function callerOf(used: Omit<Booking, 'failed'>): string[] {
  const { workspace, day, keyId, subject, model, agent, currency } = used;
  return [workspace, day, keyId, subject, model, agent, currency];
}

export function numbersOf({ inputTokens, outputTokens, nanos }: Omit<Booking, 'failed'>): number[] {
  return [inputTokens, outputTokens, nanos];
}

export function atMost(number: number): number {
  return Math.min(number, MAX);
}

export function numberIn(row: Row | undefined, name: string): number {
  return Number(row?.[name] ?? 0);
}

export function counterIn(row: Row): Counter {
  return {
    calls: numberIn(row, 'calls'),
    tokens: numberIn(row, 'tokens'),
    nanos: numberIn(row, 'nanos'),
    reservedTokens: numberIn(row, 'reserved_tokens'),
    reservedNanos: numberIn(row, 'reserved_nanos'),
  };
}

/** Limits the numbers, because a very large sum may be a float that cannot be stored as an integer. */
export function clamped<Numbers extends { readonly tokens: number; readonly nanos: number }>(
  numbers: Numbers,
): Numbers {
  const { tokens, nanos } = numbers;
  return { ...numbers, tokens: Math.min(tokens, MAX), nanos: Math.min(nanos, MAX) };
}

export function payerIn(row: Row): Payer {
  return {
    workspace: String(row['workspace']),
    keyId: String(row['key_id']),
    subject: String(row['subject']),
    taskId: String(row['task_id']),
    contextId: String(row['context_id']),
  };
}

export function reservedIn(row: Row): ReservedCall {
  return {
    ...payerIn(row),
    id: String(row['id']),
    day: String(row['day']),
    model: String(row['model']),
    agent: String(row['agent']),
  };
}

/**
 * Returns the known usage of a call that is no longer in progress, for example because its process has died. It
 * consists of the prompt and the part of the answer that had arrived.
 */
export function bookingIn(row: Row): Booking {
  const outputTokens = numberIn(row, 'seen_tokens');
  const { id: _, ...call } = reservedIn(row);
  return {
    ...call,
    currency: String(row['currency']),
    inputTokens: numberIn(row, 'input_tokens'),
    outputTokens,
    failed: true,
    nanos: numberIn(row, 'input_nanos') + Math.round(outputTokens * numberIn(row, 'output_price')),
  };
}

/** Returns whether an estimate was counted for the reservation. */
export function isRecovered(row: Row): boolean {
  // SQLite has no type for booleans.
  return row['recovered'] === true || row['recovered'] === 1;
}

/**
 * Returns the usage to count when a call ends, or undefined if there is none. `row` is the call's reservation. If an
 * estimate was counted for a call that was released, the usage is the negative estimate.
 */
export function endedUse({ id, booking }: Settlement, row: Row | undefined): BookedUse | undefined {
  if (id === undefined) return booking && { booking, inTask: false, isRest: false };
  // If the reservation is missing, the call has already been counted, for example by a process that resumed it.
  if (!row) return undefined;
  if (!isRecovered(row)) return booking && { booking, inTask: true, isRest: false };
  const counted = bookingIn(row);
  const used = booking ?? { ...counted, inputTokens: 0, outputTokens: 0, nanos: 0 };
  return { booking: restOf(used, counted), inTask: true, isRest: true };
}

/**
 * Returns the actual usage minus the estimate that was counted when the reservation was recovered. The result is
 * negative if the estimate was too high.
 */
function restOf(used: Booking, counted: Booking): Booking {
  // A call that cost nothing may have no currency.
  const currency = used.nanos === 0 ? counted.currency : used.currency;
  return {
    ...used,
    currency,
    inputTokens: used.inputTokens - counted.inputTokens,
    outputTokens: used.outputTokens - counted.outputTokens,
    nanos: used.nanos - (currency === counted.currency ? counted.nanos : 0),
  };
}
