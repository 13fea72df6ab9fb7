/**
 * Checkpoints: earlier states of the workspace's files, stored in a separate git repository in the data folder. The
 * work tree of this repository is the workspace. The workspace's own .git is never read or written, and need not exist.
 *
 * A checkpoint is a commit under refs/checkpoints/ID, with a JSON message. The commit has no parents, so each
 * checkpoint can be removed separately. If several checkpoints contain the same content, git stores this content once.
 *
 * A checkpoint does not contain these files, and restoring it does not touch them: files ignored by .gitignore, folders
 * such as node_modules, the data folder, files that are larger than MAX_FILE_BYTES or not readable, files whose names
 * are not valid UTF-8, and repositories inside the workspace. Of the permissions, only the executable bit is stored.
 * Empty folders are not stored.
 *
 * There is one exception: a file that the checkpoint contains, but that has become ignored later. A restore overwrites
 * this file. So the checkpoint that is taken before the restore contains the file, although it is ignored.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  copyFile,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { type JsonObject, systemCode, Turns } from '../../base/index.ts';
import * as z from 'zod';
import { isInside } from '../files/path-rules.ts';
import { git, GitError, gitOn, splitZ, type Place } from './git.ts';
import { changesBetween, restoreFiles } from './restore.ts';

export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Maximum number of files in the workspace that are not ignored. If there are more, no checkpoint is taken. */
export const MAX_FILES = 50_000;
/** Maximum number of `skipped` files. If there are more, no checkpoint is taken. */
const MAX_SKIPPED = 10_000;
const MAX_LABEL = 500;
const MAX_EXTRA_BYTES = 64 * 1024;
const DAY_MS = 24 * 3_600_000;
const DEFAULT_KEEP = 100;
const DEFAULT_KEEP_DAYS = 30;
/**
 * Old checkpoints are removed after the first new checkpoint of a process, and then after every PRUNE_EVERY
 * checkpoints.
 */
const PRUNE_EVERY = 25;
/**
 * Maximum size of the repository. If it is still larger after old checkpoints were removed, the older half of the
 * remaining checkpoints is removed too.
 */
const MAX_REPOSITORY_KIB = 1024 * 1024;
/** Maximum number of loose objects (objects in files of their own). If there are more, git packs them. */
const MAX_LOOSE_OBJECTS = 5000;
/** How long unused objects are kept, because another process may be about to use them. */
const GRACE = '1.hour.ago';
/** The age at which an index file is assumed to belong to a crashed process. */
const STALE_INDEX_MS = DAY_MS;
const REFS = 'refs/checkpoints/';

export interface Checkpoint {
  readonly id: string;
  /** The time, in milliseconds since 1970. */
  readonly at: number;
  /** The change before which the checkpoint was taken. */
  readonly label: string;
  /** Data of the caller, for example the position in the conversation. */
  readonly extra: JsonObject;
  /**
   * Files that could not be stored, although they are not ignored: files that are too large or not readable, files with
   * a name that is not valid UTF-8, and repositories inside the workspace.
   */
  readonly skipped: readonly string[];
}

export type Checkpoints = Awaited<ReturnType<typeof openCheckpoints>>;

/** Thrown if git is missing or fails, if there are too many files, or if a checkpoint does not exist. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError';
  readonly code: 'no-git' | 'too-many-files' | 'not-found' | 'failed';
  constructor(code: CheckpointError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface CheckpointOptions {
  readonly workspace: string;
  /** The data folder. The repositories are in its subfolder `checkpoints`. */
  readonly dataFolder: string;
  /** Maximum number of checkpoints. Default: 100. Older checkpoints are removed at the next pruning (PRUNE_EVERY). */
  readonly keep?: number;
  /** Maximum age of a checkpoint, in days. Default: 30. The newest checkpoint is kept even if it is older. */
  readonly keepDays?: number;
}

const Note = z.object({
  at: z.number(),
  label: z.string(),
  extra: z.record(z.string(), z.json()),
  skipped: z.array(z.string()),
});

/**
 * Opens the workspace's checkpoints and creates their repository if needed. Throws a CheckpointError if git is missing
 * or fails.
 */
export async function openCheckpoints(options: CheckpointOptions) {
  const workspace = await realpath(options.workspace);
  const name = createHash('sha256').update(workspace).digest('hex').slice(0, 16);
  const repository = path.join(path.resolve(options.dataFolder), 'checkpoints', name);
  const shared = path.join(repository, 'index');
  // Each process has its own index file. So the lock file of another process, or of a crashed process, does not block
  // this process.
  const index = path.join(repository, `index-${randomBytes(6).toString('hex')}`);
  const place: Place = { repository, workspace, index };
  await explained(() => prepare(place, options.dataFolder));
  await copyIndex(shared, index).catch(() => {});
  // A damaged index is removed, because it is only a cache.
  await git(place, ['ls-files', '-z']).catch(() => rm(index, { force: true }));

  const turns = new Turns();
  let taken = 0;
  let lastAt = 0;

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    return turns.run(repository, () => explained(work));
  }

  /** Removes old checkpoints, depending on their number, their age and the size of the repository. */
  async function removeOld(): Promise<void> {
    const { keep = DEFAULT_KEEP, keepDays = DEFAULT_KEEP_DAYS } = options;
    const after = Date.now() - keepDays * DAY_MS;
    const checkpoints = await all(place, undefined);
    await removeStale(place);
    const old = checkpoints.filter(({ at }, nth) => nth >= keep || (nth > 0 && at < after));
    if (old.length > 0) await drop(place, old);
    const { loose, kib } = await sizeOf(place);
    if (old.length > 0 || loose > MAX_LOOSE_OBJECTS) await collect(place);
    if (kib <= MAX_REPOSITORY_KIB || (await sizeOf(place)).kib <= MAX_REPOSITORY_KIB) return;
    const left = checkpoints.filter((each) => !old.includes(each));
    await drop(place, left.slice(Math.ceil(left.length / 2)));
    await collect(place);
  }

  async function take(
    label: string,
    extra: JsonObject,
    signal: AbortSignal | undefined,
    also: readonly string[] = [],
  ): Promise<Checkpoint> {
    const { tree, skipped } = await stage(place, also, signal);
    // Two checkpoints of this process never have the same time.
    lastAt = Math.max(Date.now(), lastAt + 1);
    const note = { at: lastAt, label: label.slice(0, MAX_LABEL), extra, skipped };
    const message = JSON.stringify(note);
    const commit = await git(place, ['commit-tree', tree, '-F', '-'], { input: message, signal });
    const id = nameOf(lastAt);
    await git(place, ['update-ref', REFS + id, commit.toString().trim()], { signal });
    await saveIndex(index, shared);
    taken += 1;
    // Pruning runs in the background. If it fails, it is tried again later.
    if (taken % PRUNE_EVERY === 1) inTurn(removeOld).catch(() => {});
    return { id, ...note };
  }

  return {
    /** Stores the current files. */
    async take(label: string, extra: JsonObject = {}, signal?: AbortSignal): Promise<Checkpoint> {
      if (Buffer.byteLength(JSON.stringify(extra)) > MAX_EXTRA_BYTES) {
        throw new TypeError(
          `the extra data of a checkpoint must not exceed ${MAX_EXTRA_BYTES} bytes`,
        );
      }
      return inTurn(() => take(label, extra, signal));
    },
    /** Returns the checkpoints, newest first. */
    list: (signal?: AbortSignal) => inTurn(() => all(place, signal)),
    /**
     * Restores the files and removes files that were added later. Before that, takes a checkpoint with the data
     * `extra`, so that the restore can be undone. Returns this checkpoint as `before`.
     */
    restore: (id: string, signal?: AbortSignal, extra: JsonObject = {}) =>
      inTurn(async () => {
        const wanted = findIn(await all(place, signal), id);
        const target = REFS + id;
        const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', target];
        // Also store files that are ignored now but will be overwritten by the restore.
        const also = splitZ(await git(place, args, { signal }));
        const note = { ...extra, restores: id };
        const before = await take(`Restore ${id}`, note, signal, also);
        const restored = await restoreFiles(place, {
          now: REFS + before.id,
          target,
          unkept: before.skipped,
          absent: wanted.skipped,
        });
        await saveIndex(index, shared);
        return { ...restored, before };
      }),
    /** Returns the changes from the current files to the checkpoint. Changes no file. */
    changes: (id: string, signal?: AbortSignal) =>
      inTurn(async () => {
        findIn(await all(place, signal), id);
        const { tree } = await stage(place, [], signal);
        return changesBetween(place, tree, REFS + id, signal);
      }),
    /** Waits until all work in the queue has ended, and removes the index file of this process. */
    async close(): Promise<void> {
      // Running work may add more work to the queue.
      while (turns.length(repository) > 0) await inTurn(async () => {});
      await rm(index, { force: true });
    },
  };
}

function findIn(checkpoints: readonly Checkpoint[], id: string): Checkpoint {
  const wanted = checkpoints.find((each) => each.id === id);
  if (wanted) return wanted;
  const line = `there is no checkpoint ${id}; /restore list shows the checkpoints`;
  throw new CheckpointError('not-found', line);
}

/** Returns an id that sorts by time and is short enough to type, for example `20261103-101530-042-1f3a`. */
function nameOf(at: number): string {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '');
  const time = `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${digits.slice(14, 17)}`;
  return `${time}-${randomBytes(2).toString('hex')}`;
}

const ATTRIBUTES = '* -text -eol -crlf -ident -filter -diff -merge !working-tree-encoding\n';
/** Folders that are ignored even in workspaces without a .gitignore. */
const EXCLUDED = ['node_modules/', '.venv/', '__pycache__/'];

async function prepare({ repository, workspace }: Place, dataFolder: string): Promise<void> {
  await mkdir(repository, { recursive: true, mode: 0o700 });
  await git({ repository, workspace }, ['init', '--quiet', '--template=']);
  const excluded = [...EXCLUDED];
  const data = await realpath(dataFolder);
  // The data folder may be inside the workspace, for example if the workspace is the home folder.
  if (isInside(workspace, data) && data !== workspace) {
    excluded.push(`/${path.relative(workspace, data).replaceAll(/[\\*?[\]!# ]/g, '\\$&')}/`);
  }
  await mkdir(path.join(repository, 'info'), { recursive: true });
  await writeFile(path.join(repository, 'info', 'attributes'), ATTRIBUTES);
  await writeFile(path.join(repository, 'info', 'exclude'), `${excluded.join('\n')}\n`);
}

/**
 * Updates the index, so that it contains exactly the files of a new checkpoint. Also adds the files in `also`, even if
 * they are ignored. Returns the index as a tree, and the files that were skipped.
 */
async function stage(place: Place, also: readonly string[], signal: AbortSignal | undefined) {
  const ls = async (...args: string[]) =>
    splitZ(await git(place, ['ls-files', '-z', '--exclude-standard', ...args], { signal }));
  const known = new Set(await ls('--cached'));
  const changed = new Set(await ls('--others', '--modified', '--deleted'));
  for (const file of also) if (!known.has(file)) changed.add(file);
  const tooMany = (which: string) =>
    new CheckpointError(
      'too-many-files',
      `no checkpoint was taken: there are more than ${which}; add some of them to .gitignore`,
    );
  if (new Set([...known, ...changed]).size > MAX_FILES) throw tooMany(`${MAX_FILES} files`);

  const skipped: string[] = [];
  const gone: string[] = [];
  const wanted: string[] = [];
  const classify = classifier(place.workspace);
  for (const file of changed) {
    signal?.throwIfAborted();
    const state = await classify(file);
    if (state === 'kept') wanted.push(file);
    else if (state === 'gone') gone.push(file);
    else skipped.push(file);
  }
  if (skipped.length > MAX_SKIPPED) {
    throw tooMany(`${MAX_SKIPPED} files that cannot be stored`);
  }
  // Remove the files from the index that are now ignored, skipped or gone.
  const kept = new Set(also);
  const ignored = (await ls('--cached', '--ignored')).filter((file) => !kept.has(file));
  const out = [...ignored, ...gone, ...skipped.filter(isPlain)];
  await gitOn(place, out, ['update-index', '--force-remove'], signal);
  await gitOn(place, wanted, ['update-index', '--add', '--replace'], signal);
  const tree = await git(place, ['write-tree'], { signal });
  return { tree: tree.toString().trim(), skipped };
}

/**
 * Returns false for a repository inside the work tree, which git lists as a folder, and for a name that is not valid
 * UTF-8.
 */
function isPlain(file: string): boolean {
  return !file.endsWith('/') && !file.includes('\ufffd');
}

/** Returns a function that classifies a file that git reports as new or changed. */
function classifier(workspace: string): (file: string) => Promise<'kept' | 'skipped' | 'gone'> {
  /** For each folder, true if it exists and its path contains no link. */
  const folders = new Map<string, boolean>();
  const isOwn = async (folder: string): Promise<boolean> => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const own = (await realpath(folder).catch(() => undefined)) === folder;
    folders.set(folder, own);
    return own;
  };
  return async (file) => {
    if (!isPlain(file)) return 'skipped';
    const where = path.join(workspace, file);
    if (!(await isOwn(path.dirname(where)))) return 'gone';
    try {
      const stats = await lstat(where);
      if (stats.isDirectory()) return 'gone';
      if (stats.isSymbolicLink()) return 'kept';
      if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return 'skipped';
      await access(where, constants.R_OK);
      return 'kept';
    } catch (error) {
      return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '') ? 'gone' : 'skipped';
    }
  };
}

async function all(place: Place, signal: AbortSignal | undefined): Promise<Checkpoint[]> {
  const format = '--format=%(refname)%00%(contents)%00';
  const output = await git(place, ['for-each-ref', format, REFS], { signal });
  const fields = output.toString('utf8').split('\0');
  const checkpoints: Checkpoint[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const note = noteIn(fields[at + 1]!);
    if (note) checkpoints.push({ id: fields[at]!.trim().slice(REFS.length), ...note });
  }
  return checkpoints.toSorted((a, b) => b.at - a.at);
}

/** Returns the note in the message of a checkpoint, or undefined if the message is damaged. */
function noteIn(message: string): z.infer<typeof Note> | undefined {
  try {
    return Note.parse(JSON.parse(message));
  } catch {
    return undefined;
  }
}

async function drop(place: Place, checkpoints: readonly Checkpoint[]): Promise<void> {
  const input = checkpoints.map(({ id }) => `delete ${REFS}${id}\n`).join('');
  await git(place, ['update-ref', '--stdin'], { input });
}

async function collect(place: Place): Promise<void> {
  await git(place, ['gc', '--quiet', `--prune=${GRACE}`]);
}

async function sizeOf(place: Place): Promise<{ loose: number; kib: number }> {
  const lines = (await git(place, ['count-objects', '-v'])).toString();
  const number = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(lines)?.[1]);
  return { loose: number('count'), kib: number('size') + number('size-pack') };
}

async function removeStale({ repository, index }: Place): Promise<void> {
  for (const name of await readdir(repository)) {
    const file = path.join(repository, name);
    if (!name.startsWith('index-') || file === index) continue;
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < Date.now() - STALE_INDEX_MS) await rm(file, { force: true });
  }
}

/** Saves the index for the next process, so that the next process does not have to read all files again. */
async function saveIndex(index: string, shared: string): Promise<void> {
  const draft = `${index}-draft`;
  await copyIndex(index, draft);
  await rename(draft, shared);
}

/**
 * Copies the index and its modification time. Git reads again every file that is not older than the index. If the copy
 * had a later time, git could miss a change.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const { mtimeMs } = await stat(from);
  await copyFile(from, to);
  const seconds = Math.floor(mtimeMs) / 1000;
  await utimes(to, seconds, seconds);
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    if (error.code === 'missing') {
      const line =
        'checkpoints are not available, because git is not installed; install git to use /restore';
      throw new CheckpointError('no-git', line, error);
    }
    throw new CheckpointError('failed', `the checkpoint failed: ${error.message}`, error);
  }
}
