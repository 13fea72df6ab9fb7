/** apply_patch: changes several files at once. Either all changes are applied or none. */
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { sizeOf } from '../../base/index.ts';
import { applyHunks } from '../files/apply-hunks.ts';
import { FileError } from '../files/file-error.ts';
import { parsePatch } from '../files/parse-patch.ts';
import type { FilePatch } from '../files/patch.ts';
import {
  decodeText,
  encodeText,
  hasOnlyCrlf,
  MAX_TEXT_BYTES,
  toCrlf,
  toLf,
} from '../files/text.ts';
import type { CoderTool } from './tool.ts';
import type { Snapshot, Workspace } from '../files/workspace.ts';
import type { ViewOf } from './define-tool.ts';
import { fileChangeTool } from './file-change.ts';

/**
 * Maximum total size of all file contents that are read or made while the patch is applied in memory. If the patch
 * changes a file several times, each version of its content counts.
 */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
const LISTED_PATHS = 3;

const Arguments = z.strictObject({
  patch: z.string().describe('A unified diff, or *** Begin Patch … *** End Patch.'),
});

const DESCRIPTION = `Changes, adds, deletes and moves files. Either all changes are applied or none. The patch is a unified \
diff or this format:
*** Begin Patch
*** Add File: path/new.ts
+each line with a plus
*** Update File: path/old.ts
*** Move to: path/other.ts
@@ optionally a whole line that precedes the change
 a line that is kept
-a line that is removed
+a line that is added
*** Delete File: path/gone.ts
*** End Patch
Give about three lines of context around each change, exactly as they are in the file.`;

/**
 * The state of a file while the patch is applied in memory. `path` is the real path of the file, or its absolute path
 * if the file does not exist yet.
 */
interface Working {
  readonly path: string;
  readonly before: Snapshot | undefined;
  after: Buffer | undefined;
  executable?: boolean | undefined;
  /** For a moved file: the file at the old path, before the patch. */
  like?: Snapshot | undefined;
}

export function applyPatchTool(workspace: Workspace, viewOf?: ViewOf): CoderTool {
  return fileChangeTool(workspace, viewOf, {
    name: 'apply_patch',
    description: DESCRIPTION,
    input: Arguments,
    describe: ({ patch }) => describe(patch),
    paths: ({ patch }) => patchPaths(patch),
    plan: ({ patch }, files) => planPatch(files, parsePatch(patch)),
  });
}

async function planPatch(workspace: Workspace, patches: readonly FilePatch[]) {
  const files = new Map<string, Working>();
  const moves = new Map<string, string>();
  const done: string[] = [];
  let total = 0;

  const count = (bytes: number): void => {
    total += bytes;
    if (total > MAX_TOTAL_BYTES) {
      throw new FileError(
        'too-large',
        `the files of the patch are larger than ${sizeOf(MAX_TOTAL_BYTES)} in total`,
      );
    }
  };
  /** Returns the state of a file. Files are identified by their real paths, because a file may have two names. */
  async function take(path: string): Promise<{ shown: string; file: Working }> {
    const key = await workspace.target(path);
    let file = files.get(key);
    if (file === undefined) {
      const before = await workspace.read(key);
      count(before?.bytes.length ?? 0);
      file = { path: key, before, after: before?.bytes };
      files.set(key, file);
    }
    return { shown: workspace.show(key), file };
  }

  /** Throws if the path is a link, because the target of the link would be removed instead of the link itself. */
  async function refuseLink(path: string, file: Working): Promise<void> {
    const absolute = workspace.locate(path);
    const own = join(await workspace.target(dirname(absolute)), basename(absolute));
    // Some file systems ignore case and Unicode normalization.
    const plain = (name: string): string => name.normalize().toLowerCase();
    if (plain(own) === plain(file.path)) return;
    throw new FileError(
      'wrong-kind',
      `${workspace.show(absolute)} is a link to ${workspace.show(file.path)}, so it cannot be deleted or moved; use the name of the file, or remove the link with a shell command`,
    );
  }

  /** Sets the new content of a file. */
  function put(file: Working, after: Buffer, shown: string): void {
    count(after.length);
    if (after.length > MAX_TEXT_BYTES) {
      throw new FileError('too-large', `${shown} would be larger than ${sizeOf(MAX_TEXT_BYTES)}`);
    }
    file.after = after;
  }

  for (const patch of patches) {
    const { shown, file } = await take(patch.path);
    if (patch.kind === 'add') {
      if (file.after !== undefined) {
        throw new FileError(
          'exists',
          `${shown} already exists, so it cannot be added; update the file instead`,
        );
      }
      put(file, Buffer.from(applyHunks('', patch.hunks, shown)), shown);
      file.executable = patch.executable;
      // An earlier part of this patch may have moved a file to this path. Another part has then removed that file from
      // here, so the new file is not a moved file.
      file.like = undefined;
      moves.delete(file.path);
      done.push(`added ${shown}`);
    } else {
      if (file.after === undefined) {
        throw new FileError('not-found', `${shown} does not exist, so the patch cannot be applied`);
      }
      const removes = patch.kind === 'delete' || patch.moveTo !== undefined;
      if (removes) await refuseLink(patch.path, file);
      const after = patched(file.after, patch, shown);
      if (patch.kind === 'delete') {
        if (patch.hunks.length > 0 && after.length > 0) {
          throw new FileError(
            'no-match',
            `the patch deletes ${shown}, but does not list all of its lines; use *** Delete File`,
          );
        }
        file.after = undefined;
        done.push(`deleted ${shown}`);
      } else if (patch.moveTo === undefined) {
        put(file, after, shown);
        file.executable = patch.executable ?? file.executable;
        done.push(`updated ${shown}`);
      } else {
        const target = await take(patch.moveTo);
        if (target.file.after !== undefined) {
          throw new FileError(
            'exists',
            `${target.shown} already exists, so ${shown} cannot be moved there`,
          );
        }
        put(target.file, after, target.shown);
        target.file.like = file.before ?? file.like;
        target.file.executable = patch.executable ?? runnable(file);
        file.after = undefined;
        moves.set(target.file.path, file.path);
        done.push(`moved ${shown} to ${target.shown}`);
      }
    }
  }

  const changes = [...files.values()].filter(
    ({ before, after, executable }) =>
      (executable !== undefined && after !== undefined) || !sameBytes(before?.bytes, after),
  );
  const summary = `${done.join(', ')}.`;
  return { changes, moves, summary: summary[0]?.toUpperCase() + summary.slice(1) };
}

/** Returns the content after the hunks have been applied. Keeps CRLF line ends and the byte order mark. */
function patched(content: Buffer, { hunks }: FilePatch, shown: string): Buffer {
  if (hunks.length === 0) return content;
  const { text, bom } = decodeText(content, shown);
  // Models usually leave out CRs. If a patch contains CRs, they are intended.
  const crlf =
    hasOnlyCrlf(text) && !hunks.some(({ lines }) => lines.some((line) => line.text.endsWith('\r')));
  const result = applyHunks(crlf ? toLf(text) : text, hunks, shown);
  return encodeText({ text: crlf ? toCrlf(result) : result, bom: bom && result !== '' });
}

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a && b ? a.equals(b) : a === b;
}

function runnable({ before, executable }: Working): boolean | undefined {
  if (executable !== undefined) return executable;
  return before !== undefined && (Number(before.stats.mode) & 0o111) !== 0 ? true : undefined;
}

/** Returns the paths that a patch changes, as they are written in the patch. Throws if the patch is invalid. */
export function patchPaths(patch: string): string[] {
  return parsePatch(patch).flatMap(({ path, moveTo }) =>
    moveTo === undefined ? [path] : [path, moveTo],
  );
}

function describe(patch: string): string {
  try {
    const paths = [...new Set(patchPaths(patch))];
    const more = paths.length > LISTED_PATHS ? ` and ${paths.length - LISTED_PATHS} more` : '';
    return `Patch ${paths.slice(0, LISTED_PATHS).join(', ')}${more}`;
  } catch {
    return 'Apply a patch';
  }
}
