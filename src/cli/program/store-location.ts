/**
 * Determines the location of the task store from `--store` and `--durability`, and opens the store. Also reads
 * `--retention`: how long finished tasks are kept.
 */
import path from 'node:path';
import { isPostgresUrl } from '../../base/postgres/index.ts';
import type { StoreError } from '../../base/index.ts';
import type { Retention, TaskStore } from '../../tasks/index.ts';
import { dataFolder, secretKeyOptions } from './folders.ts';
import { ExitError, usageError } from './exit.ts';
import { type Environment, wholeNumber } from './flags.ts';
import type { ServerLog } from './log.ts';

export type StoreLocation =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'sqlite';
      readonly file: string;
      readonly durability: 'normal' | 'full';
    }
  | { readonly kind: 'postgres'; readonly url: string; readonly leaseMs?: number | undefined };

export interface StoreFlags {
  readonly store: string | undefined;
  readonly durability?: 'normal' | 'full' | undefined;
  /** If this node does not respond for this many seconds, other nodes take over its tasks. */
  readonly lease?: string | undefined;
}

/** The limits of `--lease`, in seconds. A shorter lease would end whenever the database or the machine is slow. */
const LEASE = { min: 1, max: 3600 };
const STORES = 'memory, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE';
const OTHER_STORE = 'use --store memory or --store sqlite:PATH';

/** Returns the file with the sessions of the agent whose tasks are in `storeFile`. */
export function sessionsFile(storeFile: string): string {
  return `${storeFile}.sessions`;
}

/**
 * Returns the location. Without `--store`, this is the file `name`.db in the data folder. Each agent has its own file,
 * because a store has only one writer.
 */
export function storeLocation(
  { store, durability = 'normal', lease }: StoreFlags,
  environment: Environment,
  name: string,
): StoreLocation {
  if (store !== undefined && isPostgresUrl(store)) {
    const leaseMs = lease === undefined ? undefined : 1000 * wholeNumber('--lease', lease, LEASE);
    return { kind: 'postgres', url: store, ...(leaseMs !== undefined && { leaseMs }) };
  }
  if (lease !== undefined) {
    throw usageError('--lease is only for several servers that share --store postgres://…');
  }
  if (store === 'memory') return { kind: 'memory' };
  if (store === undefined) {
    return { kind: 'sqlite', file: path.join(dataFolder(environment), `${name}.db`), durability };
  }
  const file = fileOf(store);
  if (file === undefined) {
    // The error does not repeat a whole URL, which may contain a password.
    const named = /^[^:]*:/.exec(store)?.[0] ?? store;
    throw usageError(`--store ${named === store ? store : `${named}…`}: use ${STORES}`);
  }
  return { kind: 'sqlite', file, durability };
}

/**
 * Returns the path of a SQLite file. The prefix `sqlite:` is optional if the text looks like a path. Returns undefined
 * for other texts, such as the word `paper`, which are probably mistakes.
 */
function fileOf(store: string): string | undefined {
  const [, given] = /^sqlite:(.+)$/.exec(store) ?? [];
  if (given !== undefined) return given;
  const isUrl = /^[a-z][a-z\d+.-]+:/i.test(store);
  return !isUrl && /[/\\]|\.(?:db|sqlite3?)$/i.test(store) ? store : undefined;
}

export async function openStore(
  place: StoreLocation,
  environment: Environment,
  log: ServerLog,
): Promise<TaskStore> {
  if (place.kind === 'memory') {
    const { memoryStore } = await import('../../tasks/index.ts');
    return memoryStore();
  }
  const { postgresStore, sqliteStore, StoreError } = await import('../../store/index.ts');
  const keys = secretKeyOptions(environment);
  try {
    if (place.kind === 'sqlite') {
      return sqliteStore(place.file, { durability: place.durability, ...keys, logger: log });
    }
    // A key file would be on this machine only, and other machines could not read the webhooks.
    const { secretKeyFile: _, ...shared } = keys;
    const { url, leaseMs } = place;
    return await postgresStore(url, { ...shared, logger: log, cluster: { leaseMs } });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (place.kind === 'postgres') throw storeFailure(error);
    if (error.code !== 'busy') throw storeProblem(error);
    // Only one process may use a SQLite store.
    throw usageError(`${error.message}: stop that process, or ${OTHER_STORE}`, { cause: error });
  }
}

/** Returns whether `openStore` failed because another process uses the store. */
export function isStoreInUse(error: unknown): boolean {
  const cause = error instanceof ExitError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'busy';
}

/** Returns the message of the error with its hint, in one line. */
export function storeErrorLine({ message, hint }: StoreError): string {
  return hint === undefined ? message : `${message}: ${hint}`;
}

/** Returns the error for a store that cannot be used. */
export function storeFailure(error: StoreError): ExitError {
  return usageError(storeErrorLine(error), { cause: error });
}

/**
 * Does the same as `storeFailure`, but adds the advice to use another store. Used for a store in a file, but not for a
 * database that nodes share.
 */
export function storeProblem(error: StoreError): ExitError {
  const hint = error.hint === undefined ? '' : ` (${error.hint})`;
  return usageError(`${error.message}${hint}: ${OTHER_STORE}`, { cause: error });
}

const RETENTION_FORMAT =
  'an age such as 30d or 12h, a size such as 2GB or 500MB, both (30d,2GB), or off';

const AGES: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };
const SIZES: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/**
 * Parses the value of `--retention`. Returns undefined if the flag is not given. If only the age or only the size is
 * given, the result contains only this value, and the caller uses its default for the missing value.
 */
export function parseRetention(text: string | undefined): Retention | undefined {
  if (text === undefined) return undefined;
  if (text === 'off') return { maxAgeMs: Infinity, maxBytes: Infinity };
  const found: { maxAgeMs?: number; maxBytes?: number } = {};
  for (const item of text.split(',')) {
    const [, digits = '', unit = ''] =
      /^(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]{1,2})$/i.exec(item.trim()) ?? [];
    const age = AGES[unit.toLowerCase()];
    const size = SIZES[unit.toLowerCase()];
    if (age !== undefined && found.maxAgeMs === undefined) found.maxAgeMs = Number(digits) * age;
    else if (size !== undefined && found.maxBytes === undefined)
      found.maxBytes = Number(digits) * size;
    else throw usageError(`--retention ${text}: use ${RETENTION_FORMAT}`);
  }
  return found;
}
