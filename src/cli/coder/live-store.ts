/**
 * The task store of a live session. A store has only one writer, but several terminals may be open. So each session has
 * its own file in the data folder, named after the session's id. When the session is resumed, its whole history is in
 * this file. With `--store`, the given file or database is used instead.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isDelegatedSession, type SessionStore } from '../../agent/index.ts';
import { deleteWithDelegated, hasUnfinishedRun } from '../../agent/internal/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { memoryStore, type TaskStore } from '../../tasks/index.ts';
import { dataFolder } from '../program/folders.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';
import { LOCAL_USER, localSession, sessionFor, sessionKeys } from './stored-sessions.ts';
import { openStore, type StoreLocation, parseRetention } from '../program/store-location.ts';
import { reasonOf } from '../../base/index.ts';

const FOLDER = 'live';
/** Number of tasks that are listed with one query. */
const PAGE = 100;
/** Number of sessions that are listed with one query. */
const SESSION_PAGE = 1000;
/** Maximum number of files without a session that are opened at each start, to find out whether they can be removed. */
const MAX_OPENED = 50;
/**
 * A file or a task whose session does not exist is removed only if it has not changed for this time. The session of a
 * file or a task that has changed since then may not have been stored yet.
 */
const YOUNG_MS = 7 * 86_400_000;
/** A session whose turn has not ended is removed to save space only if the session has not changed for this time. */
const ABANDONED_MS = 86_400_000;

interface LiveStoreOptions {
  /** The task store that `--store` names, or the default one. The sessions are stored beside it. */
  readonly place: StoreLocation;
  /** Whether the location was set with --store. */
  readonly named: boolean;
  readonly sessionId: string;
  readonly environment: Environment;
  readonly log: ServerLog;
}

export async function openLiveStore(options: LiveStoreOptions): Promise<TaskStore> {
  const { place, named, sessionId, environment, log } = options;
  if (place.kind === 'memory') return memoryStore();
  if (named || place.kind === 'postgres') return openStore(place, environment, log);
  const folder = path.join(dataFolder(environment), FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return openStore({ ...place, file: fileOf(folder, sessionId) }, environment, log);
}

/**
 * Returns the file of a session. The id may come from a command line or an editor, so unsafe characters are replaced,
 * and long ids are cut. Letters are converted to lower case, because some file systems ignore the case. A name that
 * differs from the id ends with a hash of the id, so that no two sessions have the same file.
 */
function fileOf(folder: string, sessionId: string): string {
  const safe = sessionId
    .toLowerCase()
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 100);
  const name = safe === sessionId ? safe : `${safe}-${hash('sha256', sessionId).slice(0, 16)}`;
  return path.join(folder, `${name}.db`);
}

interface SweepSetup extends Omit<LiveStoreOptions, 'named' | 'sessionId'> {
  readonly values: { readonly retention?: string | undefined };
  readonly sessions: SessionStore;
}

/**
 * Removes old files of sessions that no longer exist. If `--retention` has a size, and the files together are larger
 * than this size, also removes the least recently used sessions. Keeps a session that is open, and a session whose turn
 * has not ended if the session changed within the last ABANDONED_MS.
 */
export async function sweepLiveStores(setup: SweepSetup): Promise<void> {
  const { environment, sessions } = setup;
  const { maxBytes = Infinity } = parseRetention(setup.values.retention) ?? {};
  const folder = path.join(dataFolder(environment), FOLDER);
  const files = await filesIn(folder);
  const owners = await sessionsByFile(folder, sessions);
  let bytes = 0;
  let opened = 0;
  for (const { file, usedAt, size } of files.toSorted((a, b) => b.usedAt - a.usedAt)) {
    const sessionId = owners.get(file);
    const isOld = Date.now() - usedAt >= YOUNG_MS;
    if (sessionId === undefined && isOld && ++opened <= MAX_OPENED) {
      if (await removeOrphan(file, setup)) continue;
    }
    bytes += size;
    if (bytes <= maxBytes || sessionId === undefined) continue;
    const session = { named: false, sessionId, abandonedMs: ABANDONED_MS };
    await deleteSession({ ...setup, ...session }).catch((error: unknown) => {
      setup.log.debug({ problem: reasonOf(error), sessionId }, 'a session was not removed');
    });
  }
}

async function filesIn(folder: string) {
  const names = await readdir(folder).catch(() => []);
  const files: { readonly file: string; readonly usedAt: number; readonly size: number }[] = [];
  for (const name of names.filter((each) => each.endsWith('.db'))) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found) files.push({ file, usedAt: found.mtimeMs, size: found.size });
  }
  return files;
}

/**
 * Removes the tasks of sessions that no longer exist from a task store that several sessions share. The retention of a
 * server does not remove these tasks (`keepTasks`).
 */
export async function removeOrphanTasks(store: TaskStore, sessions: SessionStore): Promise<void> {
  const known = new Set<string>();
  for await (const { id } of sessionKeys(sessions, LOCAL_USER, SESSION_PAGE)) known.add(id);
  const exists = async (id: string) =>
    known.has(id) || (await sessionFor(sessions, localSession(id))) !== undefined;
  const newest = Date.now() - YOUNG_MS;
  let after: number | undefined;
  for (;;) {
    const page = (await store.retention?.finished({ kept: true, after, limit: PAGE })) ?? [];
    for (const { tenant, owner, taskId, contextId, endedAt } of page) {
      if (endedAt > newest) return;
      if (contextId === undefined || (await exists(contextId))) continue;
      await store.delete({ tenant, owner }, taskId);
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.position;
  }
}

/** Returns a map from the file of each stored session to the session's id. */
async function sessionsByFile(
  folder: string,
  sessions: SessionStore,
): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for await (const key of sessionKeys(sessions, LOCAL_USER, SESSION_PAGE)) {
    if (isDelegatedSession(key)) continue;
    ids.set(fileOf(folder, key.id), key.id);
  }
  return ids;
}

/**
 * Removes a file whose session was not in the list of sessions. Keeps the file if it is in use, or if its tasks belong
 * to a session that exists: the list can lack a session that changed while the list was read. Returns whether the file
 * was removed.
 */
async function removeOrphan(
  file: string,
  { environment, sessions, log }: SweepSetup,
): Promise<boolean> {
  try {
    const place = { kind: 'sqlite', file, durability: 'normal' } as const;
    const store = await openStore(place, environment, log);
    try {
      const { heads } = await store.list({ tenant: '', owner: '', limit: 1, total: false });
      const [task] = heads;
      if (task && (await sessionFor(sessions, localSession(task.contextId)))) return false;
    } finally {
      await store.close();
    }
    await removeStore(file);
    return true;
  } catch (error) {
    log.debug({ problem: reasonOf(error), file }, 'the file of a missing session was not removed');
    return false;
  }
}

/** Removes the file of one session. */
export async function forgetLiveStore(environment: Environment, sessionId: string): Promise<void> {
  await removeStore(fileOf(path.join(dataFolder(environment), FOLDER), sessionId));
}

interface DeleteOptions extends LiveStoreOptions {
  readonly sessions: SessionStore;
  /**
   * A turn that has not ended prevents the deletion if the session changed within this time. By default, such a turn
   * always prevents the deletion.
   */
  readonly abandonedMs?: number;
}

/**
 * Deletes a stored session and its tasks. Does nothing if there is no such session. Throws if another process has the
 * lock of the SQLite task store, because the session may be open there. Throws an A2AError if a turn of the session has
 * not ended. `parley serve` and `parley -p` do not have this lock, so only the session shows whether they run a turn.
 * With --store, all sessions share one task store, and only the tasks of this session are deleted from it.
 */
export async function deleteSession(options: DeleteOptions): Promise<void> {
  const { place, named, sessionId, environment, sessions } = options;
  const key = localSession(sessionId);
  if (!(await sessionFor(sessions, key))) return;
  const store = await openLiveStore(options);
  try {
    await requireEnded(options);
    await deleteWithDelegated(sessions, key);
    if (named) await deleteTasks(store, sessionId);
  } finally {
    await store.close();
  }
  if (place.kind === 'sqlite' && !named) await forgetLiveStore(environment, sessionId);
}

/** Throws if a turn of the session has not ended. */
async function requireEnded(options: DeleteOptions): Promise<void> {
  const { sessions, sessionId, abandonedMs = Infinity } = options;
  const session = await sessions.get(localSession(sessionId));
  if (!session || Date.now() - session.updatedAt >= abandonedMs) return;
  if (!hasUnfinishedRun(session.events)) return;
  throw new A2AError(
    'unavailable',
    `A turn of this session is running, waits for an answer, or was interrupted. End or cancel the turn first: load the session, or run parley --resume ${sessionId}. If the session shows no turn, the turn may be running in parley serve or parley -p. Otherwise, it was interrupted: send a prompt in the session, wait for the answer, and then delete the session.`,
  );
}

async function deleteTasks(store: TaskStore, contextId: string): Promise<void> {
  const scope = { tenant: '', owner: '' };
  for (;;) {
    const { heads } = await store.list({ ...scope, contextId, limit: PAGE, total: false });
    for (const { taskId } of heads) await store.delete(scope, taskId);
    if (heads.length < PAGE) return;
  }
}

async function removeStore(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-lock']) await rm(`${file}${suffix}`, { force: true });
}
