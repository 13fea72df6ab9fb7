/**
 * The notes that stand for what is left out of the contents and the diff of a file change. The server writes them.
 * Displays must recognize them, because a change that is not shown completely must not be as easy to allow as other
 * changes. This file loads no schema.
 */
import { sizeOf } from '../../base/index.ts';

/** Maximum length of a note. */
const MAX_NOTE = 200;
const TRUNCATED = /(?:^|\n)\[truncated: [^\n]+ more\]\n$/;
const BINARY = /^\[[^\n]+, [\d.]+ (?:bytes|KB|MB)\]\n$/;
const NO_DIFF = /\n\[too many differences to show: [^\n]*\]\n$/;
const LEFT_OUT =
  /^(?:\[(?:truncated: |too many differences to show: )|\+\[[^\n]+, [\d.]+ (?:bytes|KB|MB)\]$)/m;

/** Returns the note at the end of a truncated content or diff. */
export function truncatedNote(missing: number): string {
  return `[truncated: ${sizeOf(missing)} more]\n`;
}

/** Returns the note that replaces a diff with too many differences. The arguments are numbers of lines. */
export function noDiffNote(before: number, after: number): string {
  return `[too many differences to show: ${before} lines become ${after}]\n`;
}

/** Returns the note that replaces the content of a binary file. */
export function binaryNote(kind: string, bytes: number): string {
  return `[${kind}, ${sizeOf(bytes)}]\n`;
}

/** Returns whether a content is truncated, or is only the note of a binary file. */
export function isShortened(content: string): boolean {
  return TRUNCATED.test(content.slice(-MAX_NOTE)) || isBinary(content);
}

/** Returns whether a content is only the note of a binary file. */
export function isBinary(content: string): boolean {
  return content.length <= MAX_NOTE && BINARY.test(content);
}

/** Returns whether the note that there are too many differences replaces the lines of a diff. */
export function isWithoutDiff(diff: string): boolean {
  return NO_DIFF.test(diff);
}

/**
 * Returns whether the diffs of one or several files leave out a part of the new contents. Only a note starts with a
 * bracket, because all other lines of a diff start with a sign. But the note of a binary file is an added line (`+[`).
 * An added line of text in the same form counts as such a note.
 */
export function leavesOut(diffs: string): boolean {
  return LEFT_OUT.test(diffs);
}
