/** Lists the stored sessions for ACP clients, and checks the folder in which a client opens a session. */
import { realpath } from 'node:fs/promises';
import type { SessionQuery, Wanted } from '../../acp/index.ts';
import { SessionNotFound, type SessionStore } from '../../agent/index.ts';
import { isInside } from '../../coder/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ExitError } from '../program/exit.ts';
import { workspaceFolder } from '../program/workspace-folder.ts';
import {
  LOCAL_USER,
  localSession,
  sessionFor,
  sessionLister,
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

/**
 * Returns a function that makes the `list` function of a user. `list` returns the user's sessions in allowed folders.
 */
export function sessionList(sessions: SessionStore) {
  const listed = sessionLister(sessions);
  return (user: string, isAllowed: (folder: string) => boolean = () => true) =>
    async function list({ cwd, cursor }: SessionQuery) {
      const wanted = cwd === undefined ? undefined : await realpath(cwd).catch(() => cwd);
      try {
        const { found, next } = await listed(
          user,
          ({ folder }) => isAllowed(folder) && (wanted === undefined || folder === wanted),
          cursor,
        );
        return {
          sessions: found.map(({ id, folder, title, updatedAt }) => ({
            sessionId: id,
            cwd: folder,
            title,
            updatedAt: new Date(updatedAt).toISOString(),
          })),
          ...(next !== undefined && { nextCursor: next }),
        };
      } catch (error) {
        if (!(error instanceof SessionNotFound)) throw error;
        throw new A2AError('invalidParams', 'cursor: no longer valid; list again without it');
      }
    };
}

function refused(problem: string): A2AError {
  return new A2AError('invalidParams', `cwd: ${problem}`);
}
