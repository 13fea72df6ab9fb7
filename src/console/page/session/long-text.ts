/** Decides where the rows of a long text end. */
import { cutText } from '../../../base/index.ts';

/**
 * Maximum length of a row of a text. A longer line is drawn as several rows, because browsers lay out long lines
 * slowly.
 */
export const MAX_ROW = 2000;

/** Returns the end of the row that starts at `start`, without the line break. Never splits a surrogate pair. */
export function rowEnd(text: string, start: number): number {
  const newline = text.indexOf('\n', start);
  const lineEnd = newline < 0 ? text.length : newline;
  const piece = text.slice(start, Math.min(lineEnd, start + MAX_ROW + 1));
  return start + cutText(piece, MAX_ROW).length;
}
