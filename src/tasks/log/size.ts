/** How large things are, roughly, and how many entries to read at a time so that a piece stays small. */
import type { SerializedEntry } from '../store/store.ts';

/** The characters in a value's strings and keys, and a little for the rest. Good enough for a limit. */
export function roughSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 8;
  if (typeof value === 'bigint') throw new TypeError('JSON has no bigint');
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

/** How many entries the next piece should have, by how large those of the last one were. */
export function nextPiece(last: readonly SerializedEntry[], most: number): number {
  let bytes = 0;
  for (const { json = '' } of last) bytes += json.length;
  const fit = Math.floor((PIECE_BYTES * last.length) / (bytes + 1));
  return Math.max(1, Math.min(most, fit));
}
