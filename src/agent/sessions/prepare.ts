/** The checks that every session store makes before it stores anything. */
import type { Event } from '../event.ts';
import { storedEvent } from './state.ts';
import { checkId, StorageError, toJson } from '../storage-error.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
/** Maximum number of events in one append. */
const MAX_BATCH = 10_000;

export interface PreparedEvent {
  readonly id: string;
  readonly event: Event;
  readonly json: string;
}

/** Checks the events. Returns the events to store, as JSON and without duplicates. */
export function prepareEvents(events: readonly Event[]): PreparedEvent[] {
  if (events.length > MAX_BATCH) {
    throw new StorageError('invalid', `one append has more than ${MAX_BATCH} events`);
  }
  const prepared = new Map<string, PreparedEvent>();
  for (const given of events) {
    const event = storedEvent(given);
    if (!event) continue;
    checkId("event's id", event.id);
    if (prepared.has(event.id)) continue;
    prepared.set(event.id, { id: event.id, event, json: toJson('event', event) });
  }
  return [...prepared.values()];
}

export function pageLimit(limit = DEFAULT_PAGE): number {
  if (Number.isInteger(limit) && limit > 0) return Math.min(limit, MAX_PAGE);
  throw new StorageError('invalid', 'the limit of a page must be a positive integer');
}
