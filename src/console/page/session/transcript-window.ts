/** Determines which entries of a long transcript are in the document. */

/** Number of entries by which the window moves. Also the size of the window while it follows the newest entries. */
export const STEP = 60;
/** Maximum number of entries in the window. */
export const MAX_WINDOW = 180;

/** The indexes of the first entry of the window, and of the entry after its last one. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the window that starts at the entry `start`. The window starts earlier if it would have fewer than STEP
 * entries. If `start` is undefined, the window has the last STEP entries.
 */
export function windowOf(start: number | undefined, count: number): Window {
  const newest = Math.max(0, count - STEP);
  const first = Math.min(start ?? newest, newest);
  return { start: first, end: Math.min(count, first + MAX_WINDOW) };
}

/** Returns the start of the window after it has moved up by one step. */
export function startAbove({ start }: Window): number {
  return Math.max(0, start - STEP);
}

/** Returns the start of the window after its end has moved down by one step. */
export function startBelow({ start, end }: Window, count: number): number {
  return Math.max(start, Math.min(count, end + STEP) - MAX_WINDOW);
}
