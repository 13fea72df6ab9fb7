/**
 * The diff of a changed file, for people. Long content is truncated, with a note. If the file is moved or removed, if
 * its mode changes, or if a new file is executable, the diff starts with git's header lines, which say so.
 */
import { basename } from 'node:path';
import { formatPatch, structuredPatch, type StructuredPatch } from 'diff';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { cutText } from '../../base/index.ts';
import { binaryNote, noDiffNote, truncatedNote } from '../../protocol/schema-free/index.ts';
import { binaryKind } from './text.ts';
import { modesOf, RUN_BITS, type Change } from './write.ts';

/**
 * Maximum length of the old content, and of the new content. If the new content is truncated, the person cannot edit it
 * before they approve the call.
 */
const MAX_CONTENT = 256 * 1024;
const MAX_DIFF = 64 * 1024;
/** Limits of the comparison. If the comparison exceeds one of these limits, a note is shown instead of the diff. */
const MAX_DIFFERENCES = 4000;
const MAX_DIFF_MS = 1000;

/**
 * Returns the old and the new content with their diff. `movedFrom` is the old path of a moved file. `show` converts a
 * path for the header of the diff.
 */
export function fileDiff(
  change: Change,
  show: (path: string) => string,
  movedFrom?: string,
): FileDiff {
  const { path, before, after } = change;
  const old = before === undefined ? undefined : readable(before.bytes);
  const next = after === undefined ? '' : readable(after, before?.bytes);
  const header = headerOf(
    change,
    before === undefined ? '/dev/null' : `a/${show(movedFrom ?? path)}`,
    after === undefined ? '/dev/null' : `b/${show(path)}`,
    movedFrom !== undefined,
  );
  return {
    file_name: basename(path),
    file_path: path,
    ...(old !== undefined && { old_content: cut(old, MAX_CONTENT) }),
    new_content: cut(next, MAX_CONTENT),
    formatted_diff: formatDiff(header, old ?? '', next),
  };
}

/** Returns whether `fileDiff` would contain the complete new content. */
export function isShownWhole({ after }: Change): boolean {
  if (after === undefined || binaryKind(after) !== undefined) return false;
  return after.toString().length <= MAX_CONTENT;
}

interface Header extends Omit<StructuredPatch, 'hunks'> {
  readonly oldFileName: string;
  readonly newFileName: string;
}

/**
 * Returns the header of a diff. It has git's extended form if the file is moved or removed, if its mode changes, or if
 * a new file is executable. Otherwise it has only the two names.
 */
function headerOf(
  change: Change,
  oldFileName: string,
  newFileName: string,
  isRename: boolean,
): Header {
  const { old, next } = modesOf(change);
  const isCreate = old === undefined;
  const isDelete = next === undefined;
  const names = { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined };
  const isPlain = isCreate ? ((next ?? 0) & RUN_BITS) === 0 : old === next && !isRename;
  if (isPlain) return names;
  const modes = old === next ? {} : { oldMode: old?.toString(8), newMode: next?.toString(8) };
  return { ...names, ...modes, isGit: true, isRename, isCreate, isDelete };
}

function formatDiff(header: Header, old: string, next: string): string {
  const { oldFileName, newFileName } = header;
  const patch = structuredPatch(oldFileName, newFileName, old, next, undefined, undefined, {
    context: 3,
    maxEditLength: MAX_DIFFERENCES,
    timeout: MAX_DIFF_MS,
  });
  const options = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };
  if (patch === undefined) {
    const lines = (text: string): number => text.split('\n').length;
    const start = formatPatch({ ...header, hunks: [] }, options);
    return start + noDiffNote(lines(old), lines(next));
  }
  return cut(formatPatch({ ...header, hunks: patch.hunks }, options), MAX_DIFF);
}

/** Truncates a text, at the end of a line if possible, and adds a note. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = cutText(text, limit);
  const end = kept.lastIndexOf('\n') + 1;
  const whole = end > 0 ? kept.slice(0, end) : `${kept}\n`;
  return `${whole}${truncatedNote(text.length - whole.length)}`;
}

/**
 * Returns the text of a file, or a note if the file is binary. If `before` is a different binary file whose note would
 * be equal, the note contains "another". Without this word, the two files would look the same.
 */
function readable(bytes: Buffer, before?: Buffer): string {
  const kind = binaryKind(bytes);
  if (kind === undefined) return bytes.toString();
  const note = binaryNote(kind, bytes.length);
  const looksSame = before !== undefined && readable(before) === note && !before.equals(bytes);
  return looksSame ? binaryNote(`another ${kind}`, bytes.length) : note;
}
