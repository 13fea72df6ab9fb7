/** What the session and artifact stores refuse, and how they say so. */
import type { SessionKey } from './session.ts';

/** UTF-16 units of an app, a user, the id of a session or an event, or an artifact's name. */
export const MAX_ID_LENGTH = 512;

export type StorageErrorCode =
  /** What was handed in cannot be stored: an id that is too long, a value that is no JSON. */
  | 'invalid'
  /** No room: a limit of the store's, or the disk. Nothing of the call was stored. */
  | 'full'
  /** Another process holds the file for too long. Nothing was stored; the same call may succeed later. */
  | 'busy'
  /** What is stored cannot be read. */
  | 'corrupt'
  /** The file cannot be opened, or is not ours. */
  | 'unusable'
  | 'closed';

/** Why a store cannot do it, in one line that says what to do. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
  }
}

export function checkOwner({ app, user }: Pick<SessionKey, 'app' | 'user'>): void {
  checkId('app', app);
  checkId('user', user);
}

export function checkKey(key: SessionKey): void {
  checkOwner(key);
  checkId('session id', key.id);
}

/** Half a surrogate pair and NUL are refused because a database would make two different ids the same. */
export function checkId(what: string, id: string): void {
  if (typeof id !== 'string') throw new StorageError('invalid', `the ${what} is not a string`);
  if (id === '') throw new StorageError('invalid', `the ${what} is empty`);
  if (id.length > MAX_ID_LENGTH) {
    throw new StorageError('invalid', `the ${what} is longer than ${MAX_ID_LENGTH} characters`);
  }
  if (!id.isWellFormed() || id.includes('\0')) {
    throw new StorageError('invalid', `the ${what} has characters that cannot be stored`);
  }
}

/** A value as JSON text. */
export function toJson(what: string, value: unknown): string {
  try {
    const json = JSON.stringify(value);
    // A function or undefined has no JSON.
    if (json !== undefined) return json;
  } catch (cause) {
    throw new StorageError('invalid', `the ${what} is not JSON: it cannot be stored`, cause);
  }
  throw new StorageError('invalid', `the ${what} is not JSON: it cannot be stored`);
}
