/** A parsed patch, in either format: the change of each file, in hunks that are found by their lines. */
import { FileError } from './file-error.ts';

export interface HunkLine {
  readonly kind: 'keep' | 'remove' | 'add';
  readonly text: string;
}

export interface Hunk {
  /** For errors: `hunk 2 (@@ -4,2 +4,3 @@)`. */
  readonly name: string;
  readonly lines: readonly HunkLine[];
  /** The number of lines before the hunk; undefined if the patch does not say. */
  readonly after?: number;
  /** Lines that come somewhere before the hunk, in this order. */
  readonly anchors?: readonly string[];
  /** The hunk is at the end of the file. */
  readonly atEnd?: boolean;
  /** Whether the file ends with a line feed; undefined leaves it unchanged. */
  readonly newlineAtEnd?: boolean;
}

export interface FilePatch {
  readonly kind: 'add' | 'update' | 'delete';
  readonly path: string;
  /** The new path of a file that moves. */
  readonly moveTo?: string;
  readonly hunks: readonly Hunk[];
  readonly executable?: boolean | undefined;
}

const KINDS: Readonly<Record<string, HunkLine['kind']>> = {
  ' ': 'keep',
  '-': 'remove',
  '+': 'add',
};

/** A line of a hunk. An empty line is an empty line of the file that lost its space. Undefined for any other line. */
export function hunkLine(line: string): HunkLine | undefined {
  const kind = KINDS[line[0] ?? ' '];
  return kind && { kind, text: line.slice(1) };
}

export function badPatch(why: string): FileError {
  return new FileError('bad-patch', `the patch ${why}`);
}
