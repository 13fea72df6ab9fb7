/** A change of a file as people are shown it. What is too long is cut, and says so. */
import { basename } from 'node:path';
import { cutText } from '../../base/index.ts';
import { formatPatch, structuredPatch } from 'diff';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { binaryKind, sizeOf } from './text.ts';
import type { Change } from './write.ts';

/** Of either content; a person who gets less than all of it cannot edit it. */
const MAX_CONTENT = 256 * 1024;
const MAX_DIFF = 64 * 1024;
/** Files that differ in more places than this are not compared line by line: that takes too long. */
const MAX_DIFFERENCES = 4000;
const MAX_DIFF_MS = 1000;

/**
 * The file before and after. `movedFrom` is where it was, for a file that moves.
 * `show` makes the path that the diff's head has.
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

/** Whether the content after the change is there, and `fileDiff` has all of it. */
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
    return `--- ${oldName}\n+++ ${newName}\n[almost all of it changes: ${lines(old)} lines become ${lines(next)}]\n`;
  }
  const headers = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };
  return cut(formatPatch(patch, headers), MAX_DIFF);
}

/** Up to the end of a line. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = cutText(text, limit);
  const end = kept.lastIndexOf('\n') + 1;
  const whole = end > 0 ? kept.slice(0, end) : `${kept}\n`;
  return `${whole}[cut: ${sizeOf(text.length - whole.length)} more]\n`;
}

function readable(bytes: Buffer): string {
  const kind = binaryKind(bytes);
  return kind === undefined ? bytes.toString() : `[${kind}, ${sizeOf(bytes.length)}]\n`;
}
