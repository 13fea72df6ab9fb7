/** glob: files by their names, the newest first. */
import { join } from 'node:path';
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import { compileGlob } from '../files/glob-pattern.ts';
import { ripgrep } from '../files/ripgrep.ts';
import type { CoderTool, Display } from './tool.ts';
import type { Workspace } from '../files/workspace.ts';
import { defineTool } from './define-tool.ts';

const MAX_FILES = 200;

const Arguments = z.strictObject({
  pattern: z
    .string()
    .describe(
      'For example src/**/*.ts or *.{md,txt}; without a slash it is for names in any folder.',
    ),
  path: z
    .string()
    .optional()
    .describe(
      'The folder to look in, and that the pattern begins at; the workspace when left out.',
    ),
});

const DESCRIPTION = `Finds files by a pattern for their paths: * and ? within a name, ** over folders, [a-z], {a,b}. \
Files that .gitignore names are left out, hidden ones are not. The newest come first, at most ${MAX_FILES}.`;

export function globTool(workspace: Workspace): CoderTool {
  return defineTool({
    name: 'glob',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ pattern, path }) => `Find ${pattern}${path === undefined ? '' : ` in ${path}`}`,
    async run({ pattern, path = '.' }, { signal }) {
      const matches = compileGlob(pattern);
      await using folder = await workspace.openFolder(path);
      const names: string[] = [];
      const args = ['--files', '--path-separator=/', '--sortr=modified', './'];
      const { stopped } = await ripgrep(folder, args, signal, (line) => {
        const name = line.replace(/^\.\//, '');
        if (matches(name)) names.push(name);
        return names.length <= MAX_FILES;
      });
      const found: string[] = [];
      for (const name of names.slice(0, MAX_FILES)) {
        const inside = await isFileInside(workspace, join(folder.path, name));
        if (inside) found.push(workspace.show(join(folder.path, name)));
      }
      const notes: string[] = [];
      if (stopped === 'enough') notes.push(`[more than ${MAX_FILES}: narrow the pattern]`);
      if (stopped === 'timeout') notes.push('[it took too long: look in a smaller folder]');
      const text =
        found.length + notes.length === 0
          ? `[no file in ${workspace.show(folder.path)} matches ${pattern}]`
          : [...found, ...notes].join('\n');
      const display: Display = { text };
      return new RichResponse(text, { display });
    },
  });
}

/** Not when a link was swapped in on the way to it since. */
async function isFileInside(workspace: Workspace, path: string): Promise<boolean> {
  try {
    return (await workspace.truePath(path)) === path;
  } catch {
    return false;
  }
}
