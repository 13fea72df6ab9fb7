/** The errors of session and artifact stores, and the checks that all of these stores make. */
import { StoreError } from '../base/index.ts';
import type { SessionKey } from './session.ts';

/** Maximum length in UTF-16 code units of names (of apps, users and artifacts) and ids (of sessions and events). */
export const MAX_ID_LENGTH = 512;

/** The reason why a store failed. */
export type StorageErrorCode =
  /** An argument is invalid, for example an id that is too long or a value that is not JSON. */
  | 'invalid'
  /** A limit of the store is reached, or the disk is full. Nothing was stored. */
  | 'full'
  /** Another process or transaction has locked the data for too long. Nothing was stored. A retry may succeed later. */
  | 'busy'
  /**
   * The database cannot be used now. For example, its server cannot be reached, did not answer in time, or has no free
   * connection. The same call may succeed later.
   */
  | 'unavailable'
  /** Stored data cannot be read. */
  | 'corrupt'
  /**
   * Any other reason. For example, the file or database cannot be opened, belongs to another program, or refused a
   * statement.
   */
  | 'unusable'
  | 'closed';

/**
 * The error of a session or artifact store. The message is one line. It says what is wrong and, where possible, what to
 * do.
 *
 *   if (error instanceof StorageError && error.code === 'busy') await retryLater();
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
  }
}

/** Converts the error of a database. Other errors are returned unchanged. */
export function toStorageError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const hint = error.hint === undefined ? '' : `: ${error.hint}`;
  return new StorageError(error.code, `${error.message}${hint}`, error.cause);
}

export function checkOwner({ app, user }: Pick<SessionKey, 'app' | 'user'>): void {
  checkId('app', app);
  checkId('user', user);
}

export function checkKey(key: SessionKey): void {
  checkOwner(key);
  checkId('session id', key.id);
}

/**
 * Throws if an id is invalid. Lone surrogates and NUL are invalid, because a database could store two different ids
 * as the same text.
 */
export function checkId(what: string, id: string): void {
  if (typeof id !== 'string') throw new StorageError('invalid', `the ${what} is not a string`);
  if (id === '') throw new StorageError('invalid', `the ${what} is empty`);
  if (id.length > MAX_ID_LENGTH) {
    throw new StorageError('invalid', `the ${what} is longer than ${MAX_ID_LENGTH} characters`);
  }
  if (!id.isWellFormed() || id.includes('\0')) {
    throw new StorageError('invalid', `the ${what} contains characters that cannot be stored`);
  }
}

/** Converts a value to JSON text. Throws a StorageError if this is impossible. */
export function toJson(what: string, value: unknown): string {
  try {
    const json = JSON.stringify(value);
    // For a function and for undefined, `JSON.stringify` returns undefined.
    if (json !== undefined) return json;
  } catch (cause) {
    throw new StorageError('invalid', `the ${what} cannot be stored: it is not JSON`, cause);
  }
  throw new StorageError('invalid', `the ${what} cannot be stored: it is not JSON`);
}

/**
 * Parses stored JSON. Throws a StorageError if this fails.
 *
 *   const event: Event = fromJson('an event', json);
 */
export function fromJson(what: string, json: string) {
  try {
    return JSON.parse(json);
  } catch (cause) {
    const message = `${what} cannot be read: delete it, or restore it from a backup`;
    throw new StorageError('corrupt', message, cause);
  }
}
