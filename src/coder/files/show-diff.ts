/** The diff of a changed file, for people. Long content is truncated, with a note. */
import { basename } from 'node:path';
import { formatPatch, structuredPatch } from 'diff';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { cutText } from '../../base/index.ts';
import { binaryNote, noDiffNote, truncatedNote } from '../../protocol/schema-free/index.ts';
import { binaryKind } from './text.ts';
import type { Change } from './write.ts';

/** Maximum length of the old content, and of the new content. A person can edit only complete new content. */
const MAX_CONTENT = 256 * 1024;
const MAX_DIFF = 64 * 1024;
/** Limits of the comparison. If it exceeds one of them, a note is shown instead of the diff. */
const MAX_DIFFERENCES = 4000;
const MAX_DIFF_MS = 1000;

/**
 * Returns the old and the new content with their diff. `movedFrom` is the old path of a moved file. `show` converts a
 * path for the header of the diff.
 */
export function fileDiff(
  { path, before, after }: Change,
  show: (path: string) => string,
  movedFrom?: string,
): FileDiff {
  const old = before === undefined ? undefined : readable(before.bytes);
  const next = after === undefined ? '' : readable(after);
  return {
    file_name: basename(path),
    file_path: path,
    ...(old !== undefined && { old_content: cut(old, MAX_CONTENT) }),
    new_content: cut(next, MAX_CONTENT),
    formatted_diff: formatDiff(
      before === undefined ? '/dev/null' : `a/${show(movedFrom ?? path)}`,
      after === undefined ? '/dev/null' : `b/${show(path)}`,
      old ?? '',
      next,
    ),
  };
}

/** Returns whether `fileDiff` would contain the complete new content. */
export function isShownWhole({ after }: Change): boolean {
  if (after === undefined || binaryKind(after) !== undefined) return false;
  return after.toString().length <= MAX_CONTENT;
}

function formatDiff(oldName: string, newName: string, old: string, next: string): string {
  const patch = structuredPatch(oldName, newName, old, next, undefined, undefined, {
    context: 3,
    maxEditLength: MAX_DIFFERENCES,
    timeout: MAX_DIFF_MS,
  });
  if (patch === undefined) {
    const lines = (text: string): number => text.split('\n').length;
    return `--- ${oldName}\n+++ ${newName}\n${noDiffNote(lines(old), lines(next))}`;
  }
  const headers = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };
  return cut(formatPatch(patch, headers), MAX_DIFF);
}

/** Truncates a text, at the end of a line if possible, and adds a note. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = cutText(text, limit);
  const end = kept.lastIndexOf('\n') + 1;
  const whole = end > 0 ? kept.slice(0, end) : `${kept}\n`;
  return `${whole}${truncatedNote(text.length - whole.length)}`;
}

function readable(bytes: Buffer): string {
  const kind = binaryKind(bytes);
  return kind === undefined ? bytes.toString() : binaryNote(kind, bytes.length);
}
