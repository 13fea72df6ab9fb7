/**
 * Finds stored sessions, to resume, list or print them. For ACP clients, also checks the folder in which a client opens
 * a session.
 */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { SessionQuery, Wanted } from '../../acp/index.ts';
import {
  contentText,
  isDelegatedSession,
  type Session,
  type SessionKey,
  SessionNotFound,
  type SessionStore,
  type SessionSummary,
  StorageError,
} from '../../agent/index.ts';
import { BoundedMap, shorten, systemCode } from '../../base/index.ts';
import { userOf } from '../../bridge/index.ts';
import { APP, isInside, WORKSPACE_KEY } from '../../coder/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { line, localTime, type StyledLine } from '../../display/index.ts';
import type { ResumableSession } from '../../tui/index.ts';
import { ExitError, usageError } from '../program/exit.ts';
import { type Environment, option } from '../program/flags.ts';
import { sessionsFile, storeLocation } from '../program/store-location.ts';
import { word } from '../program/terminal.ts';
import { workspaceFolder } from '../program/workspace-folder.ts';
import { openSessions } from './setup.ts';

export const SESSION_FLAGS = {
  user: option(
    'NAME',
    'Use the sessions of this user. For parley serve --keys, this is a NAME in the keys file; for parley serve --token, it is the word "token". By default, the sessions of parley, parley -p, parley acp, and parley serve without tokens are used.',
  ),
  store: option(
    'S',
    'Where the sessions are stored: sqlite:PATH (in the file PATH.sessions) or postgres://…. By default in the data folder.',
  ),
} as const;

/**
 * The user of sessions without authentication. These are the sessions of `parley`, `parley -p`, `parley acp`, and
 * `parley serve` without tokens.
 */
export const LOCAL_USER = userOf({ user: undefined, tenant: '' });

export function localSession(id: string): SessionKey {
  return { app: APP, user: LOCAL_USER, id };
}

/**
 * Returns the session that a client names, or undefined if there is none. A client cannot name the session of a helper
 * (an agent that works for another session).
 */
export async function sessionFor(
  sessions: SessionStore,
  key: SessionKey,
): Promise<Session | undefined> {
  if (isDelegatedSession(key)) return undefined;
  try {
    return await sessions.get(key);
  } catch (error) {
    // The id is invalid, so no stored session has this id.
    if (error instanceof StorageError && error.code === 'invalid') return undefined;
    throw error;
  }
}

/** Maximum number of conversations from which a person can choose. */
const MAX_OFFERED = 100;
/** Maximum number of stored sessions that are read, including the sessions that are not shown. */
const MAX_STORED = 10_000;
const MAX_TITLE = 60;
/** Maximum length of each message in a preview, and maximum number of messages. */
const MAX_PREVIEW = 300;
const MAX_PREVIEWED = 8;
/** The key in the state of a session that marks a single turn of `parley -p`. */
export const ONE_OFF_KEY = 'cli.oneOff';
/** Number of sessions that are listed with one query, and maximum number on a page for ACP clients. */
const PAGE_SIZE = 50;

/**
 * Returns the session with this id or, if the id is empty, the last session in this folder. With `onlyTalks`, the
 * search for the last session considers only conversations (`isConversation`). Throws if there is no such session.
 */
export async function findSession(
  sessions: SessionStore,
  id: string,
  folder: string,
  { onlyTalks = false } = {},
): Promise<Session> {
  if (id !== '') return sessionOf(sessions, LOCAL_USER, id);
  for await (const session of usedSessions(sessions, LOCAL_USER)) {
    if (workspaceOf(session) !== folder) continue;
    if (!onlyTalks || isConversation(session)) return session;
  }
  const what = onlyTalks ? 'conversation' : 'session';
  throw usageError(
    `there is no ${what} in ${folder} yet: start one without --resume or --continue`,
  );
}

/** Yields the keys of a user's sessions, including those of helpers, the most recently changed session first. */
export async function* sessionKeys(
  sessions: SessionStore,
  user: string,
  pageSize = PAGE_SIZE,
): AsyncGenerator<SessionKey> {
  let before: string | undefined;
  for (;;) {
    const page = { limit: pageSize, ...(before !== undefined && { before }) };
    const keys = await sessions.list({ app: APP, user }, page);
    yield* keys;
    before = keys.at(-1)?.id;
    if (keys.length < pageSize) return;
  }
}

/**
 * Yields the sessions of a user, the most recent first, and at most `limit` of them. Leaves out sessions in which
 * nothing was sent, and the sessions of helpers, which are parts of other sessions.
 */
export async function* usedSessions(
  sessions: SessionStore,
  user: string,
  limit = Infinity,
): AsyncGenerator<Session> {
  let left = limit;
  let listed = 0;
  for await (const key of sessionKeys(sessions, user)) {
    if (++listed > MAX_STORED) return;
    const session = isDelegatedSession(key) ? undefined : await sessions.get(key);
    if (!session || isUnused(session)) continue;
    yield session;
    if (--left === 0) return;
  }
}

export async function sessionOf(
  sessions: SessionStore | undefined,
  user: string,
  id: string,
): Promise<Session> {
  const found = await sessions?.get({ app: APP, user, id });
  if (found) return found;
  throw usageError(`there is no session ${id}: parley sessions lists the sessions`);
}

/** Returns the session's folder, or undefined if none is stored. */
export function workspaceOf(session: Session | undefined): string | undefined {
  const folder = session?.state[WORKSPACE_KEY];
  return typeof folder === 'string' ? folder : undefined;
}

/**
 * Returns the folder in which to resume the session: its own folder or, if none is stored, the current folder `here`.
 * Throws if `--workspace` (`given`) names another folder, because a session keeps its folder. Also throws if the
 * session's folder no longer exists.
 */
export async function folderToResume(
  session: Session,
  given: readonly string[],
  here: string,
): Promise<string> {
  const own = workspaceOf(session);
  if (own === undefined || own === here) return here;
  if (!(await exists(own))) {
    throw usageError(
      `the session works in ${word(own)}, which no longer exists: create or restore this folder, or start a new session without --resume or --continue`,
    );
  }
  if (given.length > 0) {
    throw usageError(
      `the session works in ${word(own)}: leave out --workspace (or PARLEY_WORKSPACE)`,
    );
  }
  return workspaceFolder(own);
}

/** Returns false if the folder certainly does not exist. Returns true if it exists, or if that cannot be determined. */
async function exists(folder: string): Promise<boolean> {
  try {
    await stat(folder);
    return true;
  } catch (error) {
    const code = systemCode(error);
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}

/**
 * Returns whether the session was opened in a folder, but contains no prompt and no command yet. Such a session is
 * stored, because an editor opens a session before the person writes, and may load it later.
 */
function isUnused(session: Session): boolean {
  // The flags of a command that resumes the session are stored in an event without content.
  const isSent = session.events.some(({ content }) => content !== undefined);
  return !isSent && workspaceOf(session) !== undefined;
}

/** Returns the start of the session's first prompt. A command is the title only if there is no prompt. */
export function sessionTitle({ events }: Session): string {
  const said = events.filter(({ author, content }) => author === 'user' && content !== undefined);
  const first = said.find(({ aside }) => aside !== true) ?? said[0];
  const text = word(contentText(first?.content));
  return text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE - 1)}…` : text;
}

/**
 * Returns whether the session is a conversation. A session that contains only commands, or only a single turn of
 * `parley -p`, is not a conversation.
 */
function isConversation({ events, state }: Session): boolean {
  const prompts = events.filter(
    ({ author, content, aside }) => author === 'user' && aside !== true && isSaid(content),
  );
  return prompts.length > (state[ONE_OFF_KEY] === true ? 1 : 0);
}

/** Returns whether the content has a part other than tool responses. Tool responses also have the role of the user. */
function isSaid(content: Session['events'][number]['content']): boolean {
  return content?.parts.some(({ kind }) => kind !== 'function-response') ?? false;
}

/** Returns the conversations to choose from, the most recent first. */
export async function recentSessions(sessions: SessionStore): Promise<ResumableSession[]> {
  const items: ResumableSession[] = [];
  for await (const session of usedSessions(sessions, LOCAL_USER)) {
    if (!isConversation(session)) continue;
    const folder = workspaceOf(session);
    const place = folder === undefined ? '' : ` in ${word(folder)}`;
    items.push({
      id: session.id,
      title: `${sessionTitle(session)}${place}`.trim(),
      when: localTime(session.updatedAt),
      preview: previewOf(session),
    });
    if (items.length === MAX_OFFERED) break;
  }
  return items;
}

/** Returns the folder of the session, and the start of each of its last messages. */
function previewOf(session: Session): StyledLine[] {
  const { events } = session;
  const said: StyledLine[] = [];
  const asides = new Set(events.flatMap(({ aside, runId }) => (aside === true ? [runId] : [])));
  for (const { author, content, runId, partial } of events) {
    const text = shorten(word(contentText(content)), MAX_PREVIEW);
    if (asides.has(runId) || partial === true || text === '' || !isSaid(content)) continue;
    if (author === 'user') said.push(line(`❯ ${text}`, { tone: 'person', bold: true }));
    else if (content?.role === 'model') said.push(line(`● ${text}`));
  }
  const last = said.slice(-MAX_PREVIEWED);
  const left = said.length - last.length;
  const folder = workspaceOf(session);
  return [
    ...(folder === undefined ? [] : [line(word(folder), 'dim')]),
    ...(left > 0 ? [line(`… ${left} earlier messages`, 'faint')] : []),
    ...last,
  ];
}

/** Opens the stored sessions. Returns undefined, and creates no file, if their SQLite file does not exist. */
export async function storedSessions(
  { store }: { readonly store: string | undefined },
  environment: Environment,
): Promise<SessionStore | undefined> {
  const place = storeLocation({ store }, environment, APP);
  if (place.kind === 'memory') {
    throw usageError('--store memory has no stored sessions: use --store sqlite:PATH');
  }
  if (place.kind === 'postgres') return openSessions(place);
  return existsSync(sessionsFile(place.file)) ? openSessions(place) : undefined;
}

const OUTSIDE = 'the folder is outside the --workspace folders';

/**
 * Returns functions that list sessions and check their folders. Sessions may use the folders in
 * `allowed` and the folders inside them. If `allowed` is undefined, sessions may use any folder.
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

/** Maximum number of sessions that are read for a page. */
const MAX_READ = 200;
const MAX_CACHED = 1000;

/** A session in a list. `cwd` is the real path of its folder. */
type ListedSession = Record<'sessionId' | 'cwd' | 'title' | 'updatedAt', string>;

/**
 * Returns a function that makes the `list` function of a user. `list` returns the user's sessions in allowed folders,
 * in pages, the most recent first. It leaves out the sessions of helpers, and sessions that are unused (`isUnused`) or
 * have no folder. A page may be short or empty, because only a limited number of sessions is read for it. The list ends
 * when `nextCursor` is missing.
 */
export function sessionList(sessions: SessionStore) {
  /**
   * The list entries of sessions, by the time of the last change, the user and the session's id. `hidden` stands for a
   * session that is not listed.
   */
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
