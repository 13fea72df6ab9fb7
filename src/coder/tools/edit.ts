/** edit: replaces a passage of a file. The passage must be quoted exactly. */
import * as z from 'zod';
import { FileError } from '../files/file-error.ts';
import { explainMissing } from '../files/explain-missing.ts';
import { findPassage, replaceMatches, type Match } from '../files/replace.ts';
import { sizeOf } from '../../base/index.ts';
import { decodeText, encodeText, MAX_TEXT_BYTES, toLf } from '../files/text.ts';
import type { CoderTool } from './tool.ts';
import type { Workspace } from '../files/workspace.ts';
import { workspacePath, type ViewOf } from './define-tool.ts';
import { fileChangeTool } from './file-change.ts';

const LISTED_LINES = 10;

const Arguments = z.strictObject({
  path: workspacePath(),
  old: z
    .string()
    .describe('The exact passage in the file, with its white space, without line numbers.'),
  new: z.string().describe('The replacement; an empty string removes the passage.'),
  all: z
    .boolean()
    .optional()
    .describe('Replace all occurrences. Without this, there must be exactly one occurrence.'),
});

const DESCRIPTION = `Replaces a passage of a file. The file must contain "old" exactly as quoted, and only once unless "all" is \
set. Quote enough lines around the change to make the passage unique. Line ends (LF or CRLF) are kept. Read the file \
first. To create a file, use write_file.`;

export function editTool(workspace: Workspace, viewOf?: ViewOf): CoderTool {
  return fileChangeTool(workspace, viewOf, {
    name: 'edit',
    description: DESCRIPTION,
    input: Arguments,
    describe: ({ path }) => `Edit ${path}`,
    paths: ({ path }) => [path],
    async plan({ path, old, new: replacement, all = false }, files) {
      const absolute = await workspace.target(path);
      const shown = workspace.show(absolute);
      if (old === '') {
        throw noMatch('"old" is empty; to create or replace a file use write_file');
      }
      if (toLf(old) === toLf(replacement)) throw noMatch('"old" and "new" are the same');
      const before = await files.read(absolute);
      if (before === undefined) {
        throw new FileError('not-found', `${shown} does not exist; to create it use write_file`);
      }
      const { text, bom } = decodeText(before.bytes, shown);
      const matches = findPassage(text, old);
      if (matches.length === 0) {
        throw noMatch(`"old" is not in ${shown}. ${explainMissing(toLf(text), toLf(old))}`);
      }
      if (matches.length > 1 && !all) {
        throw noMatch(
          `"old" occurs ${matches.length} times in ${shown}, at ${lineList(matches)}; quote more lines around the intended passage, or set "all"`,
        );
      }
      const after = encodeText({ text: replaceMatches(text, matches, replacement), bom });
      if (after.length > MAX_TEXT_BYTES) {
        throw new FileError('too-large', `${shown} would be larger than ${sizeOf(MAX_TEXT_BYTES)}`);
      }
      const places = matches.length === 1 ? '1 place' : `${matches.length} places`;
      return {
        changes: [{ path: absolute, before, after }],
        summary: `Edited ${shown}: ${places}, ${lineList(matches)}.`,
      };
    },
  });
}

function noMatch(why: string): FileError {
  return new FileError('no-match', why);
}

function lineList(matches: readonly Match[]): string {
  const lines = matches.slice(0, LISTED_LINES).map(({ line }) => line);
  const more = matches.length > LISTED_LINES ? ' and more' : '';
  return `${matches.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`;
}
