/** What a patch says, however it was written: for each file what happens to it, in hunks that are found by their lines. */
import { FileError } from './file-error.ts';

export interface HunkLine {
  readonly kind: 'keep' | 'remove' | 'add';
  readonly text: string;
}

export interface Hunk {
  /** For errors: `hunk 2 (@@ -4,2 +4,3 @@)`. */
  readonly name: string;
  readonly lines: readonly HunkLine[];
  /** Where it should be, as the number of lines before it; undefined when the patch does not say. */
  readonly after?: number;
  /** Lines that come somewhere before it, each after the one before. */
  readonly anchors?: readonly string[];
  /** Its last line is the file's. */
  readonly atEnd?: boolean;
  /** Whether the file's last line ends with a line feed; undefined leaves that as it is. */
  readonly newlineAtEnd?: boolean;
}

export interface FilePatch {
  readonly kind: 'add' | 'update' | 'delete';
  readonly path: string;
  /** Where the file goes. */
  readonly moveTo?: string;
  readonly hunks: readonly Hunk[];
  readonly executable?: boolean | undefined;
}

export function badPatch(why: string): FileError {
  return new FileError('bad-patch', `the patch ${why}`);
}
