/** glob: finds files by name, the newest first. */
import { join } from 'node:path';
import * as z from 'zod';
import { compileGlob } from '../files/glob-pattern.ts';
import { ripgrep } from '../files/ripgrep.ts';
import { LEFT_OUT, type CoderTool } from './tool.ts';
import type { Workspace } from '../files/workspace.ts';
import { defineTool, optionalText, respond } from './define-tool.ts';

const MAX_FILES = 200;

const Arguments = z.strictObject({
  pattern: z
    .string()
    .describe(
      'For example src/**/*.ts or *.{md,txt}. A pattern without a slash matches names in any folder.',
    ),
  path: optionalText.describe(
    'The folder to search. The pattern is relative to this folder. Default: the workspace.',
  ),
});

const DESCRIPTION = `Finds files by a path pattern: * and ? within a name, ** for any number of folders, [a-z], \
{a,b}. Hidden files are included, but files ignored by .gitignore are not. Returns at most ${MAX_FILES} files, newest first.`;

export function globTool(workspace: Workspace): CoderTool {
  return defineTool({
    name: 'glob',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ pattern, path }) => `Find ${pattern}${path === undefined ? '' : ` in ${path}`}`,
    async run({ pattern, path = '.' }, { signal }, _preview, shows) {
      const matches = compileGlob(pattern);
      await using folder = await workspace.openFolder(path);
      const names: string[] = [];
      const args = ['--files', '--path-separator=/', '--sortr=modified', './'];
      const stopped = await ripgrep(folder, args, signal, (line) => {
        const name = line.replace(/^\.\//, '');
        if (matches(name) && shows?.(join(folder.path, name)) !== false) names.push(name);
        return names.length <= MAX_FILES;
      });
      const found: string[] = [];
      for (const name of names.slice(0, MAX_FILES)) {
        const file = join(folder.path, name);
        const real = await workspace.realPath(file).catch(() => undefined);
        // The paths differ if a part of the path was replaced by a link after ripgrep found the file.
        if (real === file) found.push(workspace.show(file));
      }
      const notes: string[] = [];
      if (stopped === 'enough') notes.push(`[more than ${MAX_FILES} files: narrow the pattern]`);
      if (stopped === 'timeout') notes.push('[timeout: search in a smaller folder]');
      if (found.length + notes.length === 0) {
        notes.push(`[no file in ${workspace.show(folder.path)} matches ${pattern}]`);
      }
      if (shows) notes.push(LEFT_OUT);
      const text = [...found, ...notes].join('\n');
      return respond(text, text);
    },
  });
}
