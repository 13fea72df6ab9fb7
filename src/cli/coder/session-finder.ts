/** Finds a session to go on with, or to show. */
import {
  contentText,
  type Session,
  type SessionKey,
  type SessionStore,
} from '../../agent/index.ts';
import { userOf } from '../../bridge/index.ts';
import { APP, WORKSPACE_KEY } from '../../coder/index.ts';
import { usageError } from '../program/exit.ts';
import { word } from '../program/terminal.ts';

/** Whoever works here without being asked who they are: `parley -p`, and `parley serve` without tokens. */
export const LOCAL_USER = userOf({ user: undefined, tenant: '' });

export function localSession(id: string): SessionKey {
  return { app: APP, user: LOCAL_USER, id };
}

/** So many are looked through for the last one of a folder. */
const MAX_LOOKED_AT = 100;
const MAX_TITLE = 60;

/** The session with this id; with an empty one, the last that worked in this folder. */
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
  throw usageError(`there is no session in ${folder} yet: leave --resume out to begin one`);
}

export async function sessionOf(
  sessions: SessionStore | undefined,
  user: string,
  id: string,
): Promise<Session> {
  const found = await sessions?.get({ app: APP, user, id });
  if (found) return found;
  throw usageError(`there is no session ${id}: parley sessions lists them`);
}

/** The folder that it works in. */
export function workspaceOf(session: Session | undefined): string | undefined {
  const folder = session?.state[WORKSPACE_KEY];
  return typeof folder === 'string' ? folder : undefined;
}

/** What it began with. */
export function sessionTitle({ events }: Session): string {
  const first = events.find(({ author, content }) => author === 'user' && content !== undefined);
  const text = word(contentText(first?.content));
  return text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE - 1)}…` : text;
}

/** Sessions to choose from, the latest first. */
export async function recentSessions(
  sessions: SessionStore,
): Promise<{ readonly id: string; readonly title: string; readonly when: string }[]> {
  const found = await sessions.list({ app: APP, user: LOCAL_USER }, { limit: MAX_LOOKED_AT });
  const items = [];
  for (const key of found) {
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
