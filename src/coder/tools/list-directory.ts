/** list_directory: the names in a folder. */
import { lstat, opendir, readlink } from 'node:fs/promises';
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import { toFileError } from '../files/file-error.ts';
import { sizeOf } from '../files/text.ts';
import type { CoderTool, Display } from './tool.ts';
import type { PathHandle, Workspace } from '../files/workspace.ts';
import { defineTool } from './define-tool.ts';

const MAX_SHOWN = 1000;
/** More than this is not even sorted. */
const MAX_READ = 20_000;

const Arguments = z.strictObject({
  path: z
    .string()
    .optional()
    .describe('Relative to the workspace, or absolute inside it; the workspace when left out.'),
});

const DESCRIPTION = `Lists a folder, hidden names included: folders first, with a slash, then files with their size, \
and symbolic links with where they lead. At most ${MAX_SHOWN} names. To find files by name in all folders use glob.`;

export function listDirectoryTool(workspace: Workspace): CoderTool {
  return defineTool({
    name: 'list_directory',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ path = '.' }) => `List ${path}`,
    async run({ path = '.' }, { signal }) {
      await using folder = await workspace.openFolder(path);
      const shown = workspace.show(folder.path);
      try {
        const { folders, others, whole } = await namesIn(folder, signal);
        await folder.confirm();
        const names = [...folders.toSorted(), ...others.toSorted()];
        const lines: string[] = [];
        for (const name of names.slice(0, MAX_SHOWN)) {
          signal.throwIfAborted();
          lines.push(await line(folder, name));
        }
        if (names.length > MAX_SHOWN) {
          const count = whole ? `${names.length}` : `more than ${names.length}`;
          lines.push(`[${MAX_SHOWN} of ${count} names; use glob to find the one you want]`);
        }
        const text = lines.length === 0 ? `[${shown} is empty]` : lines.join('\n');
        const display: Display = { text };
        return new RichResponse(text, { display });
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
  // A name may have a line feed in it; the list may not.
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  const shown = /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name;
  try {
    const stats = await lstat(folder.at(name));
    if (stats.isDirectory()) return `${shown}/`;
    if (stats.isSymbolicLink()) return `${shown} -> ${await readlink(folder.at(name))}`;
    return stats.isFile() ? `${shown} (${sizeOf(stats.size)})` : `${shown} (not a file)`;
  } catch {
    // Removed since, or unreadable.
    return shown;
  }
}
