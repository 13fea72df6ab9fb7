/**
 * The notes in the contents and the diff of a file change. A note replaces omitted text, or describes the file itself.
 * The server writes the notes. Displays must recognize the notes: if a person cannot see the whole change, a display
 * shows a warning, does not preselect the approval, or does not offer the approval. This file imports no schema.
 */
import { sizeOf } from '../../base/index.ts';

/** The start of a diff with a header in git's form. */
const GIT_HEADER = 'diff --git ';
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

/**
 * Returns the lines of git's header in the diff of one file, such as `new mode 100755`. They say that the file is moved
 * or removed, is executable, or gets another mode. A display that compares the contents itself must show these lines
 * too.
 */
export function headerNotes(diff = ''): readonly string[] {
  const [first = '', ...lines] = diff.split('\n');
  if (!first.startsWith(GIT_HEADER)) return [];
  const end = lines.findIndex((line) => !/^[a-z]/.test(line));
  return lines.slice(0, end === -1 ? undefined : end);
}

/** Returns whether a content is truncated, or is only the note of a binary file. */
export function isShortened(content: string): boolean {
  return TRUNCATED.test(content.slice(-MAX_NOTE)) || isBinary(content);
}

/** Returns whether a content is only the note of a binary file. */
export function isBinary(content: string): boolean {
  return content.length <= MAX_NOTE && BINARY.test(content);
}

/** Returns whether a diff has the note of `noDiffNote` instead of the changed lines. */
export function isWithoutDiff(diff: string): boolean {
  return NO_DIFF.test(diff);
}

/**
 * Returns whether the diffs of one or several files leave out a part of the new contents. A line of a diff that starts
 * with `[` is a note, because all other lines start with another character (`+`, `-`, `@`, a space or a letter). The
 * note of a binary file is part of the new content, so its line starts with `+[`. An added line of text that looks like
 * such a note counts as one.
 */
export function leavesOut(diffs: string): boolean {
  return LEFT_OUT.test(diffs);
}
