/**
 * Applies the hunks of a patch to a text. The lines of a hunk are searched for after the previous hunk and after the
 * hunk's own anchors. If there is no exact match, white space at the ends of lines is ignored. If several places match,
 * the place is chosen in this order: the end of the file, for a hunk that belongs there; the place nearest to the
 * hunk's line number; the first place. Lines that the hunk keeps stay as they are in the file.
 */
import { FileError } from './file-error.ts';
import { explainMissing } from './explain-missing.ts';
import type { Hunk } from './patch.ts';

/**
 * Maximum number of line comparisons if there are several hunks: the number of hunks times the number of lines in the
 * file. More would block the process for seconds.
 */
const MAX_COMPARISONS = 20_000_000;

/** Returns the new text. Lines end with LF, both in `text` and in the result. `shown` is the path in error messages. */
export function applyHunks(text: string, hunks: readonly Hunk[], shown: string): string {
  const endsWithNewline = text.endsWith('\n');
  const lines = text === '' ? [] : (endsWithNewline ? text.slice(0, -1) : text).split('\n');
  if (hunks.length > 1 && hunks.length * lines.length > MAX_COMPARISONS) {
    throw new FileError(
      'bad-patch',
      `the patch has ${hunks.length} hunks for ${shown}, which has ${lines.length} lines; apply them in smaller patches`,
    );
  }
  const result: string[] = [];
  const copy = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) result.push(lines[at] ?? '');
  };
  let done = 0;
  let drift = 0;
  let newline = text === '' ? true : endsWithNewline;
  for (const hunk of hunks) {
    const old = hunk.lines.filter(({ kind }) => kind !== 'add').map((line) => line.text);
    const at = place(lines, old, hunk, done, drift);
    if (at === undefined) throw noMatch(shown, lines, old, hunk, done);
    if (hunk.after !== undefined) drift = at - hunk.after;
    copy(done, at);
    let next = at;
    for (const { kind, text: line } of hunk.lines) {
      if (kind === 'add') result.push(line);
      if (kind === 'keep') result.push(lines[next] ?? line);
      if (kind !== 'add') next += 1;
    }
    done = next;
    if (hunk.newlineAtEnd !== undefined && done === lines.length) newline = hunk.newlineAtEnd;
  }
  copy(done, lines.length);
  return result.length === 0 ? '' : result.join('\n') + (newline ? '\n' : '');
}

/** Returns the number of lines before the hunk, or undefined if the hunk is not found. */
function place(
  lines: readonly string[],
  old: readonly string[],
  hunk: Hunk,
  from: number,
  drift: number,
): number | undefined {
  const { start, missing } = afterAnchors(lines, hunk.anchors ?? [], from);
  if (missing !== undefined) return undefined;
  if (old.length === 0) {
    if (hunk.after !== undefined)
      return Math.min(Math.max(hunk.after + drift, start), lines.length);
    // The hunk only adds lines. It adds them after its anchors, or at the end of the file if it has no anchors.
    return hunk.anchors === undefined ? lines.length : start;
  }
  for (const compared of [exactly, withoutEnd]) {
    const places = find(lines, old, start, compared);
    const last = lines.length - old.length;
    if (hunk.atEnd === true && places.at(-1) === last) return last;
    if (places.length > 0)
      return nearest(places, hunk.after === undefined ? start : hunk.after + drift);
  }
  return undefined;
}

/** Returns the number of lines up to and including the last anchor, and the first anchor that is missing, if any. */
function afterAnchors(lines: readonly string[], anchors: readonly string[], from: number) {
  let start = from;
  for (const anchor of anchors) {
    while (start < lines.length && lines[start]?.trim() !== anchor) start += 1;
    if (start === lines.length) return { start, missing: anchor };
    start += 1;
  }
  return { start };
}

const exactly = (line: string): string => line;
const withoutEnd = (line: string): string => line.trimEnd();

/**
 * Returns the positions of all occurrences, which may overlap. `compared` returns the part of a line that is compared.
 * The algorithm of Knuth, Morris and Pratt is used, because a naive search takes quadratic time in a file whose lines
 * are nearly all equal.
 */
function find(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  compared: (line: string) => string,
): number[] {
  const keys = wanted.map(compared);
  // If n lines have matched and the next line does not match, fallback[n] lines still match at a later position.
  const fallback = [0, 0];
  for (let at = 1, matched = 0; at < keys.length; at += 1) {
    while (matched > 0 && keys[at] !== keys[matched]) matched = fallback[matched] ?? 0;
    if (keys[at] === keys[matched]) matched += 1;
    fallback.push(matched);
  }
  const places: number[] = [];
  for (let at = from, matched = 0; at < lines.length; at += 1) {
    const line = compared(lines[at] ?? '');
    while (matched > 0 && (matched === keys.length || line !== keys[matched])) {
      matched = fallback[matched] ?? 0;
    }
    if (line === keys[matched]) matched += 1;
    if (matched === keys.length) places.push(at + 1 - matched);
  }
  return places;
}

function nearest(places: readonly number[], to: number): number | undefined {
  let best = places[0];
  for (const at of places) {
    if (best === undefined || Math.abs(at - to) < Math.abs(best - to)) best = at;
  }
  return best;
}

function noMatch(
  shown: string,
  lines: readonly string[],
  old: readonly string[],
  hunk: Hunk,
  from: number,
): FileError {
  const { missing } = afterAnchors(lines, hunk.anchors ?? [], from);
  const anchor = hunk.anchors?.at(-1);
  let why: string;
  if (missing !== undefined) {
    why = `the line ${JSON.stringify(missing)} after its @@ is not in the file${from > 0 ? ` after line ${from}` : ''}.`;
  } else if (anchor !== undefined && find(lines, old, from, withoutEnd).length > 0) {
    why = `its lines are in the file, but not after the line ${JSON.stringify(anchor)} after its @@.`;
  } else if (find(lines, old, 0, withoutEnd).length > 0) {
    why =
      'its lines are in the file, but before the lines of the previous hunk; put the hunks in order.';
  } else {
    const hint = explainMissing(lines.join('\n'), old.join('\n'));
    why = `its lines are not in the file. ${hint.replaceAll('"old"', 'the hunk')}`;
  }
  return new FileError('no-match', `${hunk.name} of ${shown} does not match: ${why}`);
}
