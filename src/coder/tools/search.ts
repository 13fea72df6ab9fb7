/** search: lines by a regular expression, in all files or some. */
import { basename, dirname, join } from 'node:path';
import { cutText } from '../../base/index.ts';
import * as z from 'zod';
import { RichResponse } from '../../agent/index.ts';
import { FileError } from '../files/file-error.ts';
import { compileGlob } from '../files/glob-pattern.ts';
import { ripgrep } from '../files/ripgrep.ts';
import type { CoderTool, Display } from './tool.ts';
import type { OpenFile, Workspace } from '../files/workspace.ts';
import { defineTool } from './define-tool.ts';

const MAX_MATCHES = 200;
const MAX_PATTERN = 2000;
const MAX_LINE = 300;
/** Bytes of a long line that are looked at before and behind the match. */
const BEFORE = 512;
const BEHIND = 2048;

const Arguments = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN)
    .describe('A regular expression as ripgrep has them; (?i) in front ignores case.'),
  path: z.string().optional().describe('A folder or a file; the whole workspace when left out.'),
  include: z.string().optional().describe('Only files that match this, for example *.ts.'),
});

const DESCRIPTION = `Searches files for a regular expression, line by line, and returns path:line: text. Files that \
.gitignore names and binary files are left out, hidden files are not. At most ${MAX_MATCHES} lines, each cut to \
${MAX_LINE} characters around the match. Escape what is meant literally: foo\\(.`;

/** One line that matches, as ripgrep says. */
interface Hit {
  /** From the folder. */
  readonly name: string;
  readonly line: number;
  /** Of the first match in the line, in bytes. */
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
    async run({ pattern, path = '.', include }, { signal }) {
      const wanted = include === undefined ? undefined : compileGlob(include);
      const place = await placeOf(workspace, path);
      await using folder = await workspace.openFolder(place.folder);
      const hits: Hit[] = [];
      const args = [
        '--null',
        '--no-heading',
        '--with-filename',
        '--line-number',
        '--byte-offset',
        // Where the matches are, without their text: that is read below, through the workspace.
        '--only-matching',
        '--replace=',
        // A byte order mark must not change what the offsets mean.
        '--encoding=none',
        '--path-separator=/',
        // Unlike a glob on the command line, a type does not overrule .gitignore.
        ...(include !== undefined && !include.includes('/')
          ? [`--type-add=wanted:${include}`, '--type=wanted']
          : []),
        `--regexp=${pattern}`,
        `./${place.name}`,
      ];
      const { stopped } = await ripgrep(folder, args, signal, (line) => {
        const hit = hitIn(line);
        const last = hits.at(-1);
        if (hit === undefined || wanted?.(hit.name) === false) return true;
        if (hit.name !== last?.name || hit.line !== last.line) hits.push(hit);
        return hits.length <= MAX_MATCHES;
      }).catch((error: unknown) => {
        throw explainPattern(error, pattern);
      });
      const lines = await readHits(workspace, folder.path, hits.slice(0, MAX_MATCHES), signal);
      if (stopped === 'enough') {
        lines.push(
          `[more than ${MAX_MATCHES} lines match: narrow the pattern, the path or include]`,
        );
      }
      if (stopped === 'timeout') lines.push('[it took too long: search in a smaller folder]');
      const text = lines.length === 0 ? `[nothing matches ${pattern}]` : lines.join('\n');
      const display: Display = { text };
      return new RichResponse(text, { display });
    },
  });
}

/** The folder to search in, and the file in it if it is only one. */
async function placeOf(
  workspace: Workspace,
  path: string,
): Promise<{ folder: string; name: string }> {
  const real = (await workspace.truePath(path)) ?? workspace.locate(path);
  try {
    await using _ = await workspace.openFolder(real);
    return { folder: real, name: '' };
  } catch (error) {
    if (!(error instanceof FileError) || error.code !== 'wrong-kind') throw error;
    // Refuses what is neither.
    await using _ = await workspace.openFile(real);
    return { folder: dirname(real), name: basename(real) };
  }
}

/** `./name NUL line:offset:`; anything else is a remark, that a file is binary for example. */
function hitIn(printed: string): Hit | undefined {
  const [path, numbers] = printed.split('\0');
  const found = /^(\d+):(\d+):/.exec(numbers ?? '');
  if (path === undefined || found === null) return undefined;
  return {
    name: path.replace(/^\.\//, ''),
    line: Number(found[1]),
    offset: Number(found[2]),
  };
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
      // Reached through a link that was not there when ripgrep looked.
      if (file.path !== path) continue;
      for (const hit of byFile.get(name) ?? []) {
        lines.push(`${workspace.show(path)}:${hit.line}: ${await lineAt(file, hit.offset)}`);
      }
    } catch {
      // Gone, or not to be read any more.
    }
  }
  return lines;
}

/** The line around the offset; of a long one the part around it. */
async function lineAt({ handle }: OpenFile, offset: number): Promise<string> {
  const from = Math.max(0, offset - BEFORE);
  const buffer = Buffer.alloc(BEFORE + BEHIND);
  const { bytesRead } = await handle.read(buffer, 0, offset - from + BEHIND, from);
  const bytes = buffer.subarray(0, bytesRead);
  const at = Math.min(offset - from, bytesRead);
  const start = at === 0 ? 0 : bytes.lastIndexOf(0x0a, at - 1) + 1;
  const end = bytes.indexOf(0x0a, at);
  const before = bytes.subarray(start, at).toString();
  const behind = bytes
    .subarray(at, end === -1 ? undefined : end)
    .toString()
    .replace(/\r$/, '');
  const cutBefore = before.length > MAX_LINE / 3 || (start === 0 && from > 0);
  const head = cutBefore
    ? `…${before.slice(-MAX_LINE / 3).replace(/^[\udc00-\udfff\ufffd]+/, '')}`
    : before;
  const tail = cutText(behind, MAX_LINE - head.length);
  return head.replace(/^\ufffd+/, '') + tail + (tail.length < behind.length ? '…' : '');
}

function explainPattern(error: unknown, pattern: string): unknown {
  if (!(error instanceof FileError) || error.code !== 'bad-pattern') return error;
  const reason = error.message.split('\n').findLast((line) => line.startsWith('error:'));
  return new FileError(
    'bad-pattern',
    `${JSON.stringify(pattern)} is not a regular expression that ripgrep understands: ${
      reason?.slice('error: '.length) ?? error.message.replaceAll(/\s+/g, ' ')
    }. Escape what is meant literally with \\; look-around and back-references are not there.`,
    error,
  );
}
