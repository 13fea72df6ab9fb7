/** write_file: creates or replaces a file. */
import * as z from 'zod';
import { FileError } from '../files/file-error.ts';
import { sizeOf } from '../../base/index.ts';
import { MAX_TEXT_BYTES } from '../files/text.ts';
import type { CoderTool } from './tool.ts';
import type { Workspace } from '../files/workspace.ts';
import { workspacePath, type ViewOf } from './define-tool.ts';
import { contentLike, fileChangeTool } from './file-change.ts';

const Arguments = z.strictObject({
  path: workspacePath(),
  content: z.string().describe('The whole content of the file.'),
});

const DESCRIPTION = `Writes a file and creates missing folders. An existing file is replaced, so read it first. Its line \
ends, byte order mark and mode are kept. To change a part of a file, use edit or apply_patch.`;

export function writeFileTool(workspace: Workspace, viewOf?: ViewOf): CoderTool {
  return fileChangeTool(workspace, viewOf, {
    name: 'write_file',
    description: DESCRIPTION,
    input: Arguments,
    describe: ({ path }) => `Write ${path}`,
    paths: ({ path }) => [path],
    async plan({ path, content }, files) {
      if (Buffer.byteLength(content) > MAX_TEXT_BYTES) {
        throw new FileError('too-large', `the content is larger than ${sizeOf(MAX_TEXT_BYTES)}`);
      }
      const absolute = await workspace.target(path);
      const before = await files.read(absolute);
      const shown = workspace.show(absolute);
      const after = contentLike(before, content, shown);
      const verb = before === undefined ? 'Created' : 'Replaced';
      return {
        changes: [{ path: absolute, before, after }],
        summary: `${verb} ${shown} (${lineCount(content)}, ${sizeOf(after.length)}).`,
      };
    },
  });
}

function lineCount(text: string): string {
  const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return lines === 1 ? '1 line' : `${lines} lines`;
}
