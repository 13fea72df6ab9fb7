/**
 * Applies the hunks of a patch to a text. A hunk is found by its lines. If it has a line number, the match nearest to
 * this line is used. Spaces at the ends of lines are ignored. Lines that the hunk keeps stay as they are in the file.
 */
import { FileError } from './file-error.ts';
import { explainMissing } from './explain-missing.ts';
import type { Hunk } from './patch.ts';

/** Returns the new text. Lines end with LF, both in `text` and in the result. */
export function applyHunks(text: string, hunks: readonly Hunk[], shown: string): string {
  const endsWithNewline = text.endsWith('\n');
  const lines = text === '' ? [] : (endsWithNewline ? text.slice(0, -1) : text).split('\n');
  const result: string[] = [];
  let done = 0;
  let drift = 0;
  let newline = text === '' ? true : endsWithNewline;
  for (const hunk of hunks) {
    const old = hunk.lines.filter(({ kind }) => kind !== 'add').map((line) => line.text);
    const at = place(lines, old, hunk, done, drift);
    if (at === undefined) throw noMatch(shown, lines, old, hunk, done);
    if (hunk.after !== undefined) drift = at - hunk.after;
    result.push(...lines.slice(done, at));
    let next = at;
    for (const { kind, text: line } of hunk.lines) {
      if (kind === 'add') result.push(line);
      if (kind === 'keep') result.push(lines[next] ?? line);
      if (kind !== 'add') next += 1;
    }
    done = next;
    if (hunk.newlineAtEnd !== undefined && done === lines.length) newline = hunk.newlineAtEnd;
  }
  result.push(...lines.slice(done));
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
  const start = afterAnchors(lines, hunk.anchors ?? [], from);
  if (start === undefined) return undefined;
  if (old.length === 0) {
    if (hunk.after !== undefined)
      return Math.min(Math.max(hunk.after + drift, start), lines.length);
    // The hunk only adds lines. It adds them after its anchors, or at the end of the file if it has no anchors.
    return hunk.anchors === undefined ? lines.length : start;
  }
  const same = (a: string, b: string): boolean => a === b;
  const almost = (a: string, b: string): boolean => a.trimEnd() === b.trimEnd();
  for (const equal of [same, almost]) {
    const places = find(lines, old, start, equal);
    const last = lines.length - old.length;
    if (hunk.atEnd === true && places.at(-1) === last) return last;
    if (places.length > 0)
      return nearest(places, hunk.after === undefined ? start : hunk.after + drift);
  }
  return undefined;
}

function afterAnchors(
  lines: readonly string[],
  anchors: readonly string[],
  from: number,
): number | undefined {
  let start = from;
  for (const anchor of anchors) {
    const at = lines.findIndex((line, index) => index >= start && line.trim() === anchor);
    if (at === -1) return undefined;
    start = at + 1;
  }
  return start;
}

function find(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  equal: (a: string, b: string) => boolean,
): number[] {
  const places: number[] = [];
  for (let at = from; at + wanted.length <= lines.length; at += 1) {
    if (wanted.every((line, index) => equal(lines[at + index] ?? '', line))) places.push(at);
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
  const anchor = hunk.anchors?.find((_, at, all) => {
    return afterAnchors(lines, all.slice(0, at + 1), from) === undefined;
  });
  let why: string;
  if (anchor !== undefined) {
    why = `the line ${JSON.stringify(anchor)} after its @@ is not in the file${from > 0 ? ` after line ${from}` : ''}.`;
  } else if (find(lines, old, 0, (a, b) => a.trimEnd() === b.trimEnd()).length > 0) {
    why =
      'its lines are in the file, but before the lines of the previous hunk; put the hunks in order.';
  } else {
    const hint = explainMissing(lines.join('\n'), old.join('\n'));
    why = `its lines are not in the file. ${hint.replaceAll('"old"', 'the hunk')}`;
  }
  return new FileError('no-match', `${hunk.name} of ${shown} does not match: ${why}`);
}
