/**
 * A parsed patch: the changes of each file, as hunks that are found by their lines. The structure is the same for both
 * patch formats.
 */
import { FileError } from './file-error.ts';

export interface HunkLine {
  readonly kind: 'keep' | 'remove' | 'add';
  readonly text: string;
}

export interface Hunk {
  /** The name in error messages, for example `hunk 2 (@@ -4,2 +4,3 @@)`. */
  readonly name: string;
  readonly lines: readonly HunkLine[];
  /** The number of lines before the hunk, or undefined if the patch does not contain this number. */
  readonly after?: number;
  /** Lines of the file that come somewhere before the hunk, in this order. White space around them is ignored. */
  readonly anchors?: readonly string[];
  /** Whether the hunk should be at the end of the file. If its lines are not there, another match is used. */
  readonly atEnd?: boolean;
  /** Whether the new file ends with a line feed. If undefined, the end of the file is unchanged. */
  readonly newlineAtEnd?: boolean;
}

export interface FilePatch {
  readonly kind: 'add' | 'update' | 'delete';
  readonly path: string;
  /** The new path of a moved file. */
  readonly moveTo?: string;
  readonly hunks: readonly Hunk[];
  /** Whether the file becomes executable. If undefined, the executable bits are unchanged. */
  readonly executable?: boolean | undefined;
}

const KINDS: Readonly<Record<string, HunkLine['kind']>> = {
  ' ': 'keep',
  '-': 'remove',
  '+': 'add',
};

/**
 * Parses a line of a hunk. Returns undefined for any other line. An empty line counts as an unchanged empty line,
 * because some programs remove the space at its start.
 */
export function hunkLine(line: string): HunkLine | undefined {
  const kind = KINDS[line[0] ?? ' '];
  return kind && { kind, text: line.slice(1) };
}

export function badPatch(why: string): FileError {
  return new FileError('bad-patch', `the patch ${why}`);
}
