/**
 * A workspace as an editor shows it: text files are read from the editor's buffers, which may have unsaved changes, and
 * written through the editor.
 *
 * Paths are checked first, with the same rules as for files on disk. The disk is used for files that are not UTF-8
 * text, are larger than MAX_BUFFER_BYTES, or cannot be read by the editor. Removing a file and changing its mode also
 * happen on the disk. If the editor cannot write, changes are written to the disk, but files with unsaved changes are
 * refused.
 */
import type { EditorFiles } from '../../live/client/editor/index.ts';
import { contentIn, isSameText, unsavedChanges } from './editor-text.ts';
import { FileError } from './file-error.ts';
import { decodeText } from './text.ts';
import type { Workspace } from './workspace.ts';

/**
 * Maximum size on disk of a file that is read from the editor. As JSON, its text must fit into one message of the
 * connection, even if most of its characters are escaped.
 */
const MAX_BUFFER_BYTES = 4 * 1024 * 1024;

export function withEditor(workspace: Workspace, files: EditorFiles): Workspace {
  /** Returns the content of the editor's buffer, or undefined if the file on disk must be used. */
  async function bufferOf(path: string, bytes: Buffer): Promise<Buffer | undefined> {
    if (bytes.length > MAX_BUFFER_BYTES || !isText(bytes)) return undefined;
    return contentIn(files, path);
  }

  return {
    ...workspace,

    async openFile(path) {
      const file = await workspace.openFile(path);
      if (file.size > MAX_BUFFER_BYTES) return file;
      const saved = Buffer.alloc(file.size);
      const { bytesRead } = await file.handle.read(saved, 0, saved.length, 0);
      const bytes = await bufferOf(file.path, saved.subarray(0, bytesRead));
      if (!bytes) return file;
      return {
        path: file.path,
        size: bytes.length,
        handle: {
          read: async (buffer, offset, length, position) => ({
            bytesRead: bytes.copy(buffer, offset, position, position + length),
          }),
        },
        [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
      };
    },

    async read(path, maxBytes) {
      const saved = await workspace.read(path, maxBytes);
      if (!saved) {
        const unsaved = await contentIn(files, workspace.locate(path));
        if (!unsaved || unsaved.length === 0) return undefined;
        throw new FileError(
          'changed',
          `${workspace.show(workspace.locate(path))} is open in the editor and not saved yet; ask the user to save it`,
        );
      }
      const bytes = await bufferOf(saved.path, saved.bytes);
      if (!bytes) return saved;
      const unsaved = !isSameText(bytes, saved.bytes);
      if (files.write) return { ...saved, bytes, buffer: { unsaved } };
      if (!unsaved) return saved;
      throw unsavedChanges(workspace.show(workspace.locate(path)));
    },

    async apply(changes, options) {
      await workspace.apply(changes, { ...options, editor: files });
      const differing: string[] = [];
      for (const { path, after } of changes) {
        if (!after) continue;
        const saved = await workspace.read(path).catch(() => undefined);
        if (!saved || !isSameText(saved.bytes, after)) differing.push(workspace.show(path));
      }
      return differing;
    },
  };
}

function isText(bytes: Buffer): boolean {
  try {
    decodeText(bytes, '');
    return true;
  } catch {
    return false;
  }
}
