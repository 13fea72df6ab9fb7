/** Estimates the sizes of values, and chooses how many entries of a log are read at a time. */
import type { SerializedEntry } from '../store/store.ts';

/**
 * Estimates a value's size in bytes from the lengths of its strings and keys. The estimate is precise enough for
 * limits. Throws a TypeError if the value contains a bigint.
 */
export function roughSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 8;
  if (typeof value === 'bigint') throw new TypeError('a bigint cannot be stored as JSON');
  if (typeof value !== 'object' || value === null) return 8;
  let size = 16;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) size += roughSize(item);
  } else {
    for (const key in value) {
      size += key.length + roughSize((value as Record<string, unknown>)[key]);
    }
  }
  return size;
}

const PIECE_BYTES = 2 * 1024 * 1024;

/** Returns how many entries to read next, at most `most`. The number depends on the sizes of the last entries. */
export function nextPiece(last: readonly SerializedEntry[], most: number): number {
  let bytes = 0;
  for (const { json = '' } of last) bytes += json.length;
  const fit = Math.floor((PIECE_BYTES * last.length) / (bytes + 1));
  return Math.max(1, Math.min(most, fit));
}
