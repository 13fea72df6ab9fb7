/**
 * Parses the patches that models write: unified diffs, with or without git's headers, and the `*** Begin Patch` format.
 */
import { parseBeginPatch } from './begin-patch.ts';
import { badPatch, type FilePatch } from './patch.ts';
import { parseUnifiedDiff } from './unified-diff.ts';

const MAX_PATCH = 4 * 1024 * 1024;
const MAX_FILES = 200;

export function parsePatch(patch: string): FilePatch[] {
  if (patch.length > MAX_PATCH) throw badPatch(`is longer than ${MAX_PATCH} characters`);
  const lines = withoutFence(plainEnds(patch).split('\n'));
  const files = lines.some((line) => line.trimEnd() === '*** Begin Patch')
    ? parseBeginPatch(lines)
    : parseUnifiedDiff(lines);
  if (files.length === 0) {
    throw badPatch('names no file; use a unified diff, or *** Begin Patch … *** End Patch');
  }
  if (files.length > MAX_FILES) throw badPatch(`names more than ${MAX_FILES} files`);
  return files;
}

/** Removes the Markdown code fence that models often put around a patch. */
function withoutFence(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== '');
  if (!/^```\w*$/.test(lines[first]?.trim() ?? '')) return lines;
  const last = lines.findLastIndex((line) => line.trim() === '```');
  return lines.slice(first + 1, last > first ? last : undefined);
}

/**
 * Replaces CRLF with LF if CRLF follows `*** Begin Patch` or the line numbers of a hunk (`@@ -1,2 +1,3 @@`). In any
 * other patch, a CR at the end of a line is part of the file's content.
 */
function plainEnds(patch: string): string {
  return /^(?:@@ -[\d,]+ \+[\d,]+ @@|\*\*\* Begin Patch)\r$/m.test(patch)
    ? patch.replaceAll('\r\n', '\n')
    : patch;
}
