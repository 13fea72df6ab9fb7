/** The rules that all session stores follow: checks before anything is stored, limits, pruning, and frozen values. */
import { setImmediate } from 'node:timers/promises';
import type { MaybePromise } from '../../base/index.ts';
import type { Event } from '../event.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import { storedEvent } from './state.ts';
import { checkId, StorageError, toJson } from '../storage-error.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
/** Maximum number of events in one append. */
const MAX_BATCH = 10_000;
/** Maximum number of sessions that one transaction deletes. */
const PRUNE_AT_ONCE = 50;
/** Default maximum size of one session, in characters of JSON. */
export const MAX_SESSION_SIZE = 64 * 2 ** 20;
/** Maximum number of cached sessions, and maximum size of each cached session in characters of JSON. */
export const MAX_KEPT = 32;
export const MAX_KEPT_SIZE = 8 * 2 ** 20;

/** The owner of sessions, as in `SessionStore.list`. */
export type Owner = Parameters<SessionStore['list']>[0];

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

/** Throws if a session would be too large. Sizes are in characters of JSON. */
export function checkSize({ id }: Pick<SessionKey, 'id'>, size: number, maxSize: number): void {
  if (size <= maxSize) return;
  throw new StorageError('full', `the session ${id} is full: start a new one`);
}

/** Deletes sessions in small transactions, so that other writers can continue. Returns the number of sessions. */
export async function pruneAll(
  pruneSome: (limit: number) => MaybePromise<number>,
): Promise<number> {
  for (let pruned = 0; ; await setImmediate()) {
    const found = await pruneSome(PRUNE_AT_ONCE);
    pruned += found;
    if (found < PRUNE_AT_ONCE) return pruned;
  }
}

/**
 * Returns the key of a session as text. With `parts`, returns the key of a part of the session, such as a run.
 * Different keys have different texts. The text is JSON, because ids may contain any separator.
 */
export function keyText({ app, user, id }: SessionKey, ...parts: string[]): string {
  return JSON.stringify([app, user, id, ...parts]);
}

/**
 * Freezes a JSON value deeply and returns it. The function is not recursive, because a deeply nested value could
 * overflow the stack.
 */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const child of Object.values(next)) open.push(child);
  }
  return value;
}
