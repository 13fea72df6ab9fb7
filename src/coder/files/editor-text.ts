/** Reads and writes the text of single files in an editor. */
import { EditorError, type EditorFiles } from '../../live/client/editor/index.ts';
import { FileError } from './file-error.ts';
import { toLf } from './text.ts';

/** An editor that can read and write files. */
export type EditorWriter = Required<EditorFiles>;

/** Returns the text of a file in the editor, or undefined if the editor cannot read the file. */
export async function contentIn(files: EditorFiles, path: string): Promise<Buffer | undefined> {
  try {
    return Buffer.from(await files.read(path));
  } catch (error) {
    if (error instanceof EditorError) return undefined;
    throw error;
  }
}

/**
 * Returns whether the texts are equal. Line ends and the byte order mark are ignored, because editors may change them.
 */
export function isSameText(one: Buffer, other: Buffer): boolean {
  return one.equals(other) || plain(one) === plain(other);
}

function plain(bytes: Buffer): string {
  return toLf(bytes.toString()).replace(/^\uFEFF/, '');
}

/** Returns the error for a file whose unsaved changes would be lost. */
export function unsavedChanges(shown: string): FileError {
  const message = `${shown} has unsaved changes in the editor; ask the user to save it`;
  return new FileError('changed', message);
}

/** Writes a text. `shown` is the path in the error message. */
export async function writeText(
  editor: EditorWriter,
  path: string,
  text: string,
  shown: string,
): Promise<void> {
  try {
    await editor.write(path, text);
  } catch (error) {
    if (!(error instanceof EditorError)) throw error;
    if (error.kind === 'refused') {
      const why = `the editor refused to write ${shown}: ${error.message}`;
      throw new FileError('no-permission', why, error);
    }
    const why = `the editor has not confirmed that it wrote ${shown}, so the outcome is unknown; read the file before you continue`;
    throw new FileError('failed', why, error);
  }
}
