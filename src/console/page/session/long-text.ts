/** Decides where the rows of a long text end, and how a large file change is shown. */
import { cutText } from '../../../base/index.ts';
import type { FileDiff } from '../../../protocol/development-tool/index.ts';
import {
  headerNotes,
  isShortened,
  isWithoutDiff,
  leavesOut,
} from '../../../protocol/schema-free/index.ts';

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

interface LargeChange {
  /** The text of `kind`: the server's diff, or the whole new content. */
  readonly text: string;
  readonly kind: 'diff' | 'content';
  /** What else changes, such as the mode of the file. Empty if `kind` is `diff`, because the diff contains this. */
  readonly notes: readonly string[];
  /** Whether the text contains the whole change. The server leaves out a part of a very large change. */
  readonly complete: boolean;
}

/**
 * Returns how a file change is shown without a comparison of its lines: as the server's diff or as the new content. The
 * new content is shown if the server has sent no diff, or only a note that there are too many differences.
 */
export function largeChange({ formatted_diff: diff = '', new_content }: FileDiff): LargeChange {
  const whole = !isShortened(new_content);
  return diff === '' || isWithoutDiff(diff)
    ? { text: new_content, kind: 'content', notes: headerNotes(diff), complete: whole }
    : { text: diff, kind: 'diff', notes: [], complete: whole && !leavesOut(diff) };
}
