/** Finds stored sessions, to resume, list or print them. */
import { existsSync } from 'node:fs';
import {
  contentText,
  isDelegatedSession,
  type Session,
  type SessionKey,
  type SessionStore,
} from '../../agent/index.ts';
import { userOf } from '../../bridge/index.ts';
import { APP, WORKSPACE_KEY } from '../../coder/index.ts';
import { usageError } from '../program/exit.ts';
import { type Environment, option } from '../program/flags.ts';
import { storeLocation } from '../program/store-location.ts';
import { word } from '../program/terminal.ts';
import { openSessions, sessionsFile } from './setup.ts';

export const SESSION_FLAGS = {
  user: option(
    'NAME',
    'Use the sessions of this user, who has this NAME in the file of parley serve --keys. By default, use the sessions that belong to no user.',
  ),
  store: option('S', 'Where the sessions are stored: sqlite:PATH. By default in the data folder.'),
} as const;

/** The user of sessions without authentication: those of `parley`, `parley -p`, and `parley serve` without tokens. */
export const LOCAL_USER = userOf({ user: undefined, tenant: '' });

export function localSession(id: string): SessionKey {
  return { app: APP, user: LOCAL_USER, id };
}

/** Maximum number of sessions that are listed, or searched for the last session of a folder. */
const MAX_LOOKED_AT = 100;
const MAX_TITLE = 60;

/** Returns the session with this id or, if the id is empty, the last session in this folder. */
export async function findSession(
  sessions: SessionStore,
  id: string,
  folder: string,
): Promise<Session> {
  if (id !== '') return sessionOf(sessions, LOCAL_USER, id);
  const owner = { app: APP, user: LOCAL_USER };
  for (const key of await sessions.list(owner, { limit: MAX_LOOKED_AT })) {
    const session = await sessions.get(key);
    if (session && workspaceOf(session) === folder) return session;
  }
  throw usageError(`there is no session in ${folder} yet: start one without --resume`);
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

/** Returns the start of the session's first prompt. */
export function sessionTitle({ events }: Session): string {
  const first = events.find(({ author, content }) => author === 'user' && content !== undefined);
  const text = word(contentText(first?.content));
  return text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE - 1)}…` : text;
}

/** Returns the sessions to choose from, the most recent first. The session of a helper is part of another session. */
export async function recentSessions(
  sessions: SessionStore,
): Promise<{ readonly id: string; readonly title: string; readonly when: string }[]> {
  const found = await sessions.list({ app: APP, user: LOCAL_USER }, { limit: MAX_LOOKED_AT });
  const items = [];
  for (const key of found) {
    if (isDelegatedSession(key)) continue;
    const session = await sessions.get(key);
    if (!session || session.events.length === 0) continue;
    const when = new Date(session.updatedAt).toLocaleString();
    const folder = workspaceOf(session);
    const title = [sessionTitle(session), folder === undefined ? '' : `in ${word(folder)}`].join(
      ' ',
    );
    items.push({ id: session.id, title: title.trim(), when });
  }
  return items;
}

/** Opens the stored sessions. Returns undefined if there are none yet, and creates no file. */
export async function storedSessions(
  { store }: { readonly store: string | undefined },
  environment: Environment,
): Promise<SessionStore | undefined> {
  const place = await storeLocation({ store }, environment, APP);
  if (place.kind === 'memory') {
    throw usageError('--store memory has no stored sessions: use --store sqlite:PATH');
  }
  return existsSync(sessionsFile(place.file)) ? openSessions(place) : undefined;
}
