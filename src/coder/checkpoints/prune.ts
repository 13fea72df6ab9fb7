/** Removes old checkpoints, depending on their number, their age and the size of the repository. */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { git, type Place } from './git.ts';

/** Maximum size of the repository. If it is larger, the older half of the checkpoints is removed. */
const MAX_REPOSITORY_KIB = 1024 * 1024;
/** Maximum number of loose objects (objects in files of their own). If there are more, git packs them. */
const MAX_LOOSE_OBJECTS = 5000;
/** How long unused objects are kept, because another process may be about to use them. */
const GRACE = '1.hour.ago';
/** The age at which an index file is assumed to belong to a crashed process. */
const STALE_INDEX_MS = 24 * 3_600_000;

export interface PruneOptions {
  readonly keep: number;
  /** The time, in milliseconds since 1970, before which checkpoints are removed. */
  readonly after: number;
  /** All checkpoints, newest first. */
  readonly checkpoints: readonly { readonly id: string; readonly at: number }[];
  drop(ids: readonly string[]): Promise<void>;
}

export async function prune(place: Place, options: PruneOptions): Promise<void> {
  const { checkpoints, keep, after } = options;
  await removeStale(place);
  // The newest checkpoint is kept even if it is old.
  const old = checkpoints.filter(({ at }, index) => index >= keep || (index > 0 && at < after));
  if (old.length > 0) await options.drop(old.map(({ id }) => id));
  const { loose, kib } = await sizeOf(place);
  if (old.length > 0 || loose > MAX_LOOSE_OBJECTS) await collect(place);
  if (kib <= MAX_REPOSITORY_KIB || (await sizeOf(place)).kib <= MAX_REPOSITORY_KIB) return;
  const left = checkpoints.filter((each) => !old.includes(each));
  await options.drop(left.slice(Math.ceil(left.length / 2)).map(({ id }) => id));
  await collect(place);
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
