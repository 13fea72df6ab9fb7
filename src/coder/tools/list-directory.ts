/** list_directory: lists the names in a folder. */
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { toFileError } from '../files/file-error.ts';
import { sizeOf } from '../../base/index.ts';
import { LEFT_OUT, type CoderTool } from './tool.ts';
import type { PathHandle, Workspace } from '../files/workspace.ts';
import { defineTool, optionalText, respond } from './define-tool.ts';

const MAX_SHOWN = 1000;
/** Maximum number of names that are read and sorted. */
const MAX_READ = 20_000;

const Arguments = z.strictObject({
  path: optionalText.describe(
    'Relative to the workspace, or absolute inside it. Default: the workspace.',
  ),
});

const DESCRIPTION = `Lists a folder, including hidden names. Folders come first, with a slash, then files with their size \
and symbolic links with their targets. Returns at most ${MAX_SHOWN} names. To find files by name in all folders, use glob.`;

export function listDirectoryTool(workspace: Workspace): CoderTool {
  return defineTool({
    name: 'list_directory',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ path = '.' }) => `List ${path}`,
    async run({ path = '.' }, { signal }, _preview, shows) {
      await using folder = await workspace.openFolder(path);
      const shown = workspace.show(folder.path);
      try {
        const { folders, others, whole } = await namesIn(folder, signal);
        await folder.confirm();
        const names = [...folders.toSorted(), ...others.toSorted()].filter(
          (name) => shows?.(join(folder.path, name)) !== false,
        );
        const lines: string[] = [];
        for (const name of names.slice(0, MAX_SHOWN)) {
          signal.throwIfAborted();
          lines.push(await line(folder, name));
        }
        if (names.length > MAX_SHOWN) {
          const count = whole ? `${names.length}` : `more than ${names.length}`;
          lines.push(`[${MAX_SHOWN} of ${count} names; use glob to find a specific name]`);
        }
        if (shows) lines.push(LEFT_OUT);
        const text = lines.length === 0 ? `[${shown} is empty]` : lines.join('\n');
        return respond(text, text);
      } catch (error) {
        signal.throwIfAborted();
        throw toFileError(error, shown);
      }
    },
  });
}

async function namesIn(folder: PathHandle, signal: AbortSignal) {
  const folders: string[] = [];
  const others: string[] = [];
  let whole = true;
  for await (const entry of await opendir(folder.self, { bufferSize: 256 })) {
    signal.throwIfAborted();
    if (folders.length + others.length >= MAX_READ) {
      whole = false;
      break;
    }
    (entry.isDirectory() ? folders : others).push(entry.name);
  }
  return { folders, others, whole };
}

async function line(folder: PathHandle, name: string): Promise<string> {
  const shown = printable(name);
  try {
    const stats = await lstat(folder.at(name));
    if (stats.isDirectory()) return `${shown}/`;
    if (stats.isSymbolicLink()) return `${shown} -> ${printable(await readlink(folder.at(name)))}`;
    return stats.isFile() ? `${shown} (${sizeOf(stats.size)})` : `${shown} (not a file)`;
  } catch {
    // The file was removed in the meantime, or its folder cannot be accessed.
    return shown;
  }
}

/** Quotes a name with control characters, because a line feed in a name would break the list. */
function printable(name: string): string {
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  return /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name;
}
