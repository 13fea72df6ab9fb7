/**
 * The workspace's files as they were, to go back to: a git repository of our own beside the user's data, whose work
 * tree is the workspace. The workspace's own .git is never read or written, and there need not be one.
 *
 * A checkpoint is a commit without parents under refs/checkpoints/ID; its message is JSON. So each can be removed on
 * its own, and git shares what they have in common.
 *
 * Left out, and left alone by `restore`: what .gitignore ignores, folders such as node_modules, files over
 * MAX_FILE_BYTES or without permission to read, and repositories inside the workspace. Of a file's permissions only
 * whether it is executable is kept, and empty folders are not.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  copyFile,
  lstat,
  mkdir,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { type JsonObject, systemCode } from '../../base/index.ts';
import * as z from 'zod';
import { isInside } from '../files/path-rules.ts';
import { git, GitError, joinZ, splitZ, type Place } from './git.ts';
import { restoreFiles, type Restored } from './restore.ts';
import { tidy } from './prune.ts';

export const MAX_FILE_BYTES = 10 * 1024 * 1024;
export const MAX_FILES = 50_000;
const MAX_SKIPPED = 10_000;
const MAX_LABEL = 500;
const MAX_EXTRA_BYTES = 64 * 1024;
const DEFAULT_KEEP = 100;
const DEFAULT_KEEP_DAYS = 30;
/** How often old ones are looked for, in checkpoints. */
const TIDY_EVERY = 25;
const REFS = 'refs/checkpoints/';

export interface Checkpoint {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What was about to happen. */
  readonly label: string;
  /** What the taker noted beside it: where in the conversation it was. */
  readonly extra: JsonObject;
  /** Files that are not in it though nothing ignores them: too large, not readable, or of another repository. */
  readonly skipped: readonly string[];
}

export interface Checkpoints {
  /** Keeps the files as they are now. */
  take(label: string, extra?: JsonObject, signal?: AbortSignal): Promise<Checkpoint>;
  /** The latest first. */
  list(signal?: AbortSignal): Promise<readonly Checkpoint[]>;
  /**
   * Makes the files what they were. Those that came since are removed, as far as a checkpoint has them: `before` is
   * taken first, with `extra` beside it, so that this too can be undone.
   */
  restore(
    id: string,
    signal?: AbortSignal,
    extra?: JsonObject,
  ): Promise<Restored & { readonly before: Checkpoint }>;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** There are no checkpoints here, or not this one. One line that says why and what to do. */
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
  /** The program's data folder; repositories are in its `checkpoints`. */
  readonly dataFolder: string;
  readonly keep?: number;
  readonly keepDays?: number;
}

const Note = z.object({
  at: z.number(),
  label: z.string(),
  extra: z.record(z.string(), z.json()),
  skipped: z.array(z.string()),
});

/** Opens the workspace's checkpoints, and makes their repository the first time. Throws a CheckpointError. */
export async function openCheckpoints(options: CheckpointOptions): Promise<Checkpoints> {
  const workspace = await realpath(options.workspace);
  const name = createHash('sha256').update(workspace).digest('hex').slice(0, 16);
  const repository = path.join(path.resolve(options.dataFolder), 'checkpoints', name);
  const shared = path.join(repository, 'index');
  // An index of our own: another process with the same workspace does not hold us up, nor what it left when it died.
  const index = path.join(repository, `index-${randomBytes(6).toString('hex')}`);
  const place: Place = { repository, workspace, index };
  await explained(() => prepare(place, options.dataFolder));
  await copyIndex(shared, index).catch(() => {});
  // One that the machine's crash has damaged is made anew: it only saves time.
  await git(place, ['ls-files', '-z']).catch(() => rm(index, { force: true }));

  let queue: Promise<unknown> = Promise.resolve();
  let taken = 0;
  let lastAt = 0;

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = queue.then(() => explained(work));
    queue = mine.catch(() => {});
    return mine;
  }

  async function tidied(): Promise<void> {
    await tidy(place, {
      keep: options.keep ?? DEFAULT_KEEP,
      after: Date.now() - (options.keepDays ?? DEFAULT_KEEP_DAYS) * 86_400_000,
      checkpoints: await all(place, undefined),
      drop: (ids) => dropped(place, ids),
    });
  }

  async function take(
    label: string,
    extra: JsonObject,
    signal: AbortSignal | undefined,
    also: readonly string[] = [],
  ): Promise<Checkpoint> {
    const skipped = await stage(place, also, signal);
    const tree = (await git(place, ['write-tree'], { signal })).toString().trim();
    // Two of the same moment have an order all the same.
    lastAt = Math.max(Date.now(), lastAt + 1);
    const note = { at: lastAt, label: label.slice(0, MAX_LABEL), extra, skipped };
    const message = JSON.stringify(note);
    const commit = await git(place, ['commit-tree', tree, '-F', '-'], { input: message, signal });
    const id = nameOf(lastAt);
    await git(place, ['update-ref', REFS + id, commit.toString().trim()], { signal });
    await keepIndex(index, shared);
    taken += 1;
    // Nobody waits for that; when it fails, the next time will do.
    if (taken % TIDY_EVERY === 1) inTurn(tidied).catch(() => {});
    return { id, ...note };
  }

  return {
    async take(label, extra = {}, signal) {
      if (Buffer.byteLength(JSON.stringify(extra)) > MAX_EXTRA_BYTES) {
        throw new TypeError(`a checkpoint's note is at most ${MAX_EXTRA_BYTES} bytes long`);
      }
      return inTurn(() => take(label, extra, signal));
    },
    list: (signal) => inTurn(() => all(place, signal)),
    restore: (id, signal, extra = {}) =>
      inTurn(async () => {
        const wanted = (await all(place, signal)).find((each) => each.id === id);
        if (!wanted) {
          throw new CheckpointError('not-found', `there is no checkpoint ${id}; see the list`);
        }
        const target = REFS + id;
        const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', target];
        // Whatever will be written over is kept, also when it is ignored by now.
        const also = splitZ(await git(place, args, { signal }));
        const note = { ...extra, restores: id };
        const before = await take(`before going back to ${id}`, note, signal, also);
        const restored = await restoreFiles(place, {
          now: REFS + before.id,
          target,
          unkept: before.skipped,
          absent: wanted.skipped,
        });
        await keepIndex(index, shared);
        return { ...restored, before };
      }),
    async close() {
      // What is under way may put more behind itself.
      for (let last: unknown; last !== queue;) {
        last = queue;
        await last;
      }
      await rm(index, { force: true });
    },
  };
}

/** Time-ordered, and short enough to be typed: `20261103-101530-042-1f3a`. */
function nameOf(at: number): string {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '');
  const time = `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${digits.slice(14, 17)}`;
  return `${time}-${randomBytes(2).toString('hex')}`;
}

const ATTRIBUTES = '* -text -eol -crlf -ident -filter -diff -merge !working-tree-encoding\n';
/** What nobody wants back, for folders that have no .gitignore. */
const EXCLUDED = ['node_modules/', '.venv/', '__pycache__/'];

async function prepare({ repository, workspace }: Place, dataFolder: string): Promise<void> {
  await mkdir(repository, { recursive: true, mode: 0o700 });
  await git({ repository, workspace }, ['init', '--quiet', '--template=']);
  const excluded = [...EXCLUDED];
  const data = await realpath(dataFolder);
  // A home folder is a workspace too, and our own data is in it.
  if (isInside(workspace, data) && data !== workspace) {
    excluded.push(`/${path.relative(workspace, data).replaceAll(/[\\*?[\]!# ]/g, '\\$&')}/`);
  }
  await mkdir(path.join(repository, 'info'), { recursive: true });
  await writeFile(path.join(repository, 'info', 'attributes'), ATTRIBUTES);
  await writeFile(path.join(repository, 'info', 'exclude'), `${excluded.join('\n')}\n`);
}

/**
 * Puts all that belongs into a checkpoint into the index, and what `also` names, ignored or not. Returns what was left
 * out.
 */
async function stage(
  place: Place,
  also: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const ls = async (...args: string[]) =>
    splitZ(await git(place, ['ls-files', '-z', '--exclude-standard', ...args], { signal }));
  const known = new Set(await ls('--cached'));
  const changed = new Set(await ls('--others', '--modified', '--deleted'));
  for (const file of also) if (!known.has(file)) changed.add(file);
  const tooMany = () =>
    new CheckpointError(
      'too-many-files',
      `no checkpoint was taken: there are more than ${MAX_FILES} files here; name more of them in .gitignore`,
    );
  if (new Set([...known, ...changed]).size > MAX_FILES) throw tooMany();

  const skipped: string[] = [];
  const gone: string[] = [];
  const wanted: string[] = [];
  const look = looker(place.workspace);
  for (const file of changed) {
    signal?.throwIfAborted();
    const state = await look(file);
    if (state === 'kept') wanted.push(file);
    else if (state === 'gone') gone.push(file);
    else skipped.push(file);
  }
  if (skipped.length > MAX_SKIPPED) throw tooMany();
  // What was kept before, and is ignored or left out now.
  const kept = new Set(also);
  const ignored = (await ls('--cached', '--ignored')).filter((file) => !kept.has(file));
  const out = [...ignored, ...gone, ...skipped.filter(isPlain)];
  await update(place, ['--force-remove'], out, signal);
  await update(place, ['--add', '--replace'], wanted, signal);
  return skipped;
}

async function update(
  place: Place,
  flags: readonly string[],
  files: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (files.length === 0) return;
  const input = joinZ(files);
  await git(place, ['update-index', ...flags, '-z', '--stdin'], { input, signal });
}

/** Git lists a repository inside the work tree as a folder; a name that is not UTF-8 does not come back as it was. */
function isPlain(file: string): boolean {
  return !file.endsWith('/') && !file.includes('\ufffd');
}

/** Says what becomes of a file that git takes for new or changed. */
function looker(workspace: string): (file: string) => Promise<'kept' | 'skipped' | 'gone'> {
  /** Whether a folder is what it is called, with no link on the way. */
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
    const note = Note.safeParse(JSON.parse(fields[at + 1]!));
    if (note.success) {
      checkpoints.push({ id: fields[at]!.trim().slice(REFS.length), ...note.data });
    }
  }
  return checkpoints.toSorted((a, b) => b.at - a.at);
}

async function dropped(place: Place, ids: readonly string[]): Promise<void> {
  const input = ids.map((id) => `delete ${REFS}${id}\n`).join('');
  await git(place, ['update-ref', '--stdin'], { input });
}

/** What the next process begins with, so that it need not read every file again. */
async function keepIndex(index: string, shared: string): Promise<void> {
  const draft = `${index}-draft`;
  await copyIndex(index, draft);
  await rename(draft, shared);
}

/** With its time: git takes a file that is as new as the index for changed, and looks into it. */
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
    if (error.missing) {
      const line = 'checkpoints are off: git is not installed; install it to be able to go back';
      throw new CheckpointError('no-git', line, error);
    }
    throw new CheckpointError('failed', `the checkpoint failed: ${error.message}`, error);
  }
}
