/** search: finds lines that match a regular expression. */
import { basename, dirname, join } from 'node:path';
import { cutText } from '../../base/index.ts';
import * as z from 'zod';
import { FileError } from '../files/file-error.ts';
import { compileGlob } from '../files/glob-pattern.ts';
import { ripgrep } from '../files/ripgrep.ts';
import { LEFT_OUT, type CoderTool } from './tool.ts';
import type { OpenFile, Workspace } from '../files/workspace.ts';
import { defineTool, optionalText, respond } from './define-tool.ts';

const MAX_MATCHES = 200;
const MAX_PATTERN = 2000;
const MAX_LINE = 300;
/** Maximum number of bytes of a line that are read before and after the start of the match. */
const BEFORE = 512;
const AFTER = 2048;

const Arguments = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN)
    .describe('A regular expression in ripgrep syntax. To ignore case, start it with (?i).'),
  path: optionalText.describe('A folder or a file. Default: the whole workspace.'),
  include: optionalText.describe('Search only files that match this pattern, for example *.ts.'),
});

const DESCRIPTION = `Searches files for a regular expression, line by line, and returns path:line: text. Hidden \
files are included, but binary files and files ignored by .gitignore are not. Returns at most ${MAX_MATCHES} lines, each \
truncated to ${MAX_LINE} characters around the match. Escape special characters: foo\\(.`;

/** A matching line, as reported by ripgrep. */
interface Hit {
  /** The path relative to the searched folder. */
  readonly name: string;
  readonly line: number;
  /** The position of the first match in the line, in bytes from the start of the file. */
  readonly offset: number;
}

export function searchTool(workspace: Workspace): CoderTool {
  return defineTool({
    name: 'search',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ pattern, path }) =>
      `Search for ${pattern}${path === undefined ? '' : ` in ${path}`}`,
    async run({ pattern, path = '.', include }, { signal }, _preview, shows) {
      const wanted = include === undefined ? undefined : compileGlob(include);
      const place = await placeOf(workspace, path);
      await using folder = await workspace.openFolder(place.folder);
      const hits: Hit[] = [];
      let checked = { name: '', shown: true };
      const args = [
        '--null',
        '--no-heading',
        '--with-filename',
        '--line-number',
        '--byte-offset',
        // ripgrep prints only the positions. `readHits` reads the text through the workspace.
        '--only-matching',
        '--replace=',
        // Otherwise ripgrep would remove a byte order mark, and the offsets would be wrong.
        '--encoding=none',
        '--path-separator=/',
        // A file type is used instead of a glob, because a glob would override .gitignore.
        ...(include !== undefined && !include.includes('/')
          ? [`--type-add=wanted:${include}`, '--type=wanted']
          : []),
        `--regexp=${pattern}`,
        `./${place.name}`,
      ];
      const stopped = await ripgrep(folder, args, signal, (line) => {
        const hit = hitIn(line);
        const last = hits.at(-1);
        if (hit === undefined || wanted?.(hit.name) === false) return true;
        if (hit.name === last?.name && hit.line === last.line) return true;
        // The hits of a file follow each other, so most files are checked only once.
        if (hit.name !== checked.name) {
          checked = { name: hit.name, shown: shows?.(join(folder.path, hit.name)) ?? true };
        }
        if (checked.shown) hits.push(hit);
        return hits.length <= MAX_MATCHES;
      }).catch((error: unknown) => {
        throw explainPattern(error, pattern);
      });
      const lines = await readHits(workspace, folder.path, hits.slice(0, MAX_MATCHES), signal);
      if (stopped === 'enough') {
        lines.push(
          `[more than ${MAX_MATCHES} lines match: use a more specific pattern, path or "include"]`,
        );
      }
      if (stopped === 'timeout') lines.push('[timeout: search in a smaller folder]');
      if (lines.length === 0) lines.push(`[no line matches ${pattern}]`);
      if (shows) lines.push(LEFT_OUT);
      const text = lines.join('\n');
      return respond(text, text);
    },
  });
}

/** Returns the folder to search, and the name of the file if `path` is a file. */
async function placeOf(workspace: Workspace, path: string) {
  const real = (await workspace.realPath(path)) ?? workspace.locate(path);
  try {
    await using _ = await workspace.openFolder(real);
    return { folder: real, name: '' };
  } catch (error) {
    if (!(error instanceof FileError) || error.code !== 'wrong-kind') throw error;
    // This throws if the path is not a regular file.
    await using _ = await workspace.openFile(real);
    return { folder: dirname(real), name: basename(real) };
  }
}

/**
 * Parses `./name NUL line:offset:`. Returns undefined for any other line, for example a message about a binary file.
 */
function hitIn(printed: string): Hit | undefined {
  const [path, numbers] = printed.split('\0');
  const found = /^(\d+):(\d+):/.exec(numbers ?? '');
  if (path === undefined || found === null) return undefined;
  return { name: path.replace(/^\.\//, ''), line: Number(found[1]), offset: Number(found[2]) };
}

async function readHits(
  workspace: Workspace,
  folder: string,
  hits: readonly Hit[],
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  const byFile = Map.groupBy(hits, (hit) => hit.name);
  for (const name of [...byFile.keys()].toSorted()) {
    signal.throwIfAborted();
    const path = join(folder, name);
    try {
      await using file = await workspace.openFile(path);
      // The paths differ if a part of the path was replaced by a link after ripgrep found the file.
      if (file.path !== path) continue;
      for (const hit of byFile.get(name) ?? []) {
        lines.push(`${workspace.show(path)}:${hit.line}: ${await lineAt(file, hit.offset)}`);
      }
    } catch {
      // The file was removed, or is no longer readable.
    }
  }
  return lines;
}

/** Returns the line at the offset. If the line is long, returns only the part around the offset. */
async function lineAt({ handle }: OpenFile, offset: number): Promise<string> {
  const from = Math.max(0, offset - BEFORE);
  const buffer = Buffer.alloc(BEFORE + AFTER);
  const { bytesRead } = await handle.read(buffer, 0, offset - from + AFTER, from);
  const bytes = buffer.subarray(0, bytesRead);
  const at = Math.min(offset - from, bytesRead);
  const start = at === 0 ? 0 : bytes.lastIndexOf(0x0a, at - 1) + 1;
  const end = bytes.indexOf(0x0a, at);
  const before = bytes.subarray(start, at).toString();
  const after = bytes
    .subarray(at, end === -1 ? undefined : end)
    .toString()
    .replace(/\r$/, '');
  const cutBefore = before.length > MAX_LINE / 3 || (start === 0 && from > 0);
  const head = cutBefore
    ? `…${before.slice(-MAX_LINE / 3).replace(/^[\udc00-\udfff\ufffd]+/, '')}`
    : before;
  const tail = cutText(after, MAX_LINE - head.length);
  return head.replace(/^\ufffd+/, '') + tail + (tail.length < after.length ? '…' : '');
}

function explainPattern(error: unknown, pattern: string): unknown {
  if (!(error instanceof FileError) || error.code !== 'bad-pattern') return error;
  const reason = error.message.split('\n').findLast((line) => line.startsWith('error:'));
  return new FileError(
    'bad-pattern',
    `${JSON.stringify(pattern)} is not a valid regular expression for ripgrep: ${
      reason?.slice('error: '.length) ?? error.message.replaceAll(/\s+/g, ' ')
    }. Escape special characters with \\. Look-around and back-references are not supported.`,
    error,
  );
}
