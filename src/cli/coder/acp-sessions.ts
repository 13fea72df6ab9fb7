/** Lists the stored sessions for ACP clients, and checks the folder in which a client opens a session. */
import { realpath } from 'node:fs/promises';
import type { SessionQuery, Wanted } from '../../acp/index.ts';
import {
  isDelegatedSession,
  SessionNotFound,
  type SessionStore,
  type SessionSummary,
} from '../../agent/index.ts';
import { BoundedMap } from '../../base/index.ts';
import { APP, isInside } from '../../coder/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ExitError } from '../program/exit.ts';
import { workspaceFolder } from '../program/workspace-folder.ts';
import {
  isUnused,
  LOCAL_USER,
  localSession,
  sessionFor,
  sessionTitle,
  workspaceOf,
} from './stored-sessions.ts';

const OUTSIDE = 'the folder is outside the --workspace folders';

/**
 * Returns functions that list sessions and check their folders. `allowed` contains the folders that sessions may use.
 * If it is undefined, sessions may use any folder.
 */
export function acpSessions(sessions: SessionStore, allowed: readonly string[] | undefined) {
  const isAllowed = (folder: string): boolean =>
    allowed === undefined || allowed.some((root) => isInside(root, folder));

  async function storedFolder(id: string): Promise<string | undefined> {
    const session = await sessionFor(sessions, localSession(id));
    if (!session) throw new A2AError('taskNotFound', 'No such session');
    return workspaceOf(session);
  }

  return {
    /**
     * Returns the real path of the folder in which a session is opened. A stored session with a folder can be opened
     * only in that folder, because its history contains paths and commands of the folder. Throws an A2AError if the
     * folder cannot be used, or if there is no session with this id.
     */
    async folderFor({ cwd, sessionId }: Pick<Wanted, 'cwd' | 'sessionId'>): Promise<string> {
      const stored = sessionId === undefined ? undefined : await storedFolder(sessionId);
      const folder = await workspaceFolder(cwd).catch((error: unknown) => {
        throw refused(error instanceof ExitError ? error.message : 'the folder cannot be used');
      });
      if (!isAllowed(folder)) throw refused(OUTSIDE);
      if (stored !== undefined && stored !== folder) {
        throw refused(
          `the session belongs to the folder ${stored}; send this folder as cwd, or start a new session`,
        );
      }
      return folder;
    },

    /** Throws an A2AError if the session's folder may not be used. */
    async checkFolder(sessionId: string): Promise<void> {
      const session = await sessionFor(sessions, localSession(sessionId));
      const folder = session && workspaceOf(session);
      if (folder === undefined || isAllowed(folder)) return;
      throw new A2AError('invalidParams', `sessionId: ${OUTSIDE}`);
    },

    list: sessionList(sessions)(LOCAL_USER, isAllowed),
  };
}

/** Maximum number of sessions on a page, and maximum number that are read for a page. */
const PAGE_SIZE = 50;
const MAX_READ = 200;
const MAX_CACHED = 1000;

/** A session in a list. `cwd` is the real path of its folder. */
type ListedSession = Record<'sessionId' | 'cwd' | 'title' | 'updatedAt', string>;

/**
 * Returns a function that makes the `list` function of a user. `list` returns the user's sessions in allowed folders, in
 * pages, the most recent first. It leaves out the sessions of helpers, and sessions that are unused (`isUnused`) or have
 * no folder. A page may be short or empty, because only a limited number of sessions is read for it. The list ends when
 * `nextCursor` is missing.
 */
export function sessionList(sessions: SessionStore) {
  /** The list entries of sessions, by the time of the last change, the user and the session's id. */
  const known = new BoundedMap<ListedSession | 'hidden'>(MAX_CACHED);

  async function read(key: SessionSummary): Promise<ListedSession | 'hidden'> {
    const name = JSON.stringify([key.updatedAt, key.user, key.id]);
    const before = known.get(name);
    if (before) return before;
    const session = await sessions.get(key);
    const cwd = workspaceOf(session);
    const isHidden = !session || cwd === undefined || isUnused(session);
    const updatedAt = new Date(key.updatedAt).toISOString();
    const entry = isHidden
      ? 'hidden'
      : { sessionId: key.id, cwd, title: sessionTitle(session), updatedAt };
    known.set(name, entry);
    return entry;
  }

  return (user: string, isAllowed: (folder: string) => boolean = () => true) =>
    async function list({ cwd, cursor }: SessionQuery) {
      const wanted = cwd === undefined ? undefined : await realpath(cwd).catch(() => cwd);
      const page = { limit: MAX_READ, ...(cursor !== undefined && { before: cursor }) };
      const keys = await sessions.list({ app: APP, user }, page).catch((error: unknown) => {
        if (!(error instanceof SessionNotFound)) throw error;
        throw new A2AError('invalidParams', 'cursor: no longer valid; list again without it');
      });
      const found: ListedSession[] = [];
      for (const [index, key] of keys.entries()) {
        const entry = isDelegatedSession(key) ? 'hidden' : await read(key);
        if (entry === 'hidden' || !isAllowed(entry.cwd)) continue;
        if (wanted !== undefined && entry.cwd !== wanted) continue;
        found.push(entry);
        const isLast = index === keys.length - 1;
        if (found.length === PAGE_SIZE && !isLast) return { sessions: found, nextCursor: key.id };
      }
      const last = keys.length === MAX_READ ? keys.at(-1)?.id : undefined;
      return { sessions: found, ...(last !== undefined && { nextCursor: last }) };
    };
}

function refused(problem: string): A2AError {
  return new A2AError('invalidParams', `cwd: ${problem}`);
}
