/** What the commands about stored sessions share: whose sessions, and where they are. */
import { existsSync } from 'node:fs';
import type { SessionStore } from '../../agent/index.ts';
import { APP } from '../../coder/index.ts';
import { openSessions, sessionsFile } from './setup.ts';
import { usageError } from '../program/exit.ts';
import type { Environment } from '../program/flags.ts';
import { storeLocation } from '../program/store-location.ts';

export const SESSION_FLAGS = {
  user: {
    type: 'string',
    value: 'NAME',
    help: 'The sessions of this user of --keys; by default those without one, as of parley -p.',
  },
  store: {
    type: 'string',
    value: 'S',
    help: 'The store that they are beside: sqlite:PATH. By default the one in the data folder.',
  },
} as const;

/** The sessions that are there; undefined where none were ever kept. Nothing is made by looking. */
export async function storedSessions(
  { store }: { readonly store: string | undefined },
  environment: Environment,
): Promise<SessionStore | undefined> {
  const place = await storeLocation({ store, durability: undefined }, environment, APP);
  if (place.kind === 'memory') throw usageError('--store memory keeps nothing: use sqlite:PATH');
  return existsSync(sessionsFile(place.file)) ? openSessions(place) : undefined;
}
