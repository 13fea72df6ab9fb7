/** Determines the location of the task store from `--store` and `--durability`, and opens the store. */
import { isPostgresUrl } from '../../base/postgres/index.ts';
import type { StoreError } from '../../store/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { ExitError, usageError } from './exit.ts';
import type { Environment } from './flags.ts';
import type { ServerLog } from './log.ts';

export type StoreLocation =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'sqlite';
      readonly file: string;
      readonly durability: 'normal' | 'full';
    }
  | { readonly kind: 'postgres'; readonly url: string };

export interface StoreFlags {
  readonly store: string | undefined;
  readonly durability?: string | undefined;
}

const STORES = 'memory, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE';
const OTHER_STORE = 'use --store memory or --store sqlite:PATH';

/**
 * Returns the location. Without `--store`, this is the file `name`.db in the data folder. Each agent has its own file,
 * because a store has only one writer.
 */
export async function storeLocation(
  { store, durability = 'normal' }: StoreFlags,
  environment: Environment,
  name: string,
): Promise<StoreLocation> {
  if (durability !== 'normal' && durability !== 'full') {
    throw usageError(`--durability ${durability}: use normal or full`);
  }
  if (store === 'memory') return { kind: 'memory' };
  if (store !== undefined && isPostgresUrl(store)) return { kind: 'postgres', url: store };
  const given = store === undefined ? undefined : fileOf(store);
  if (store !== undefined && given === undefined) {
    // A URL may have a password.
    const named = /^[^:]*:/.exec(store)?.[0] ?? store;
    throw usageError(`--store ${named === store ? store : `${named}…`}: use ${STORES}`);
  }
  if (given !== undefined) return { kind: 'sqlite', file: given, durability };
  const [{ dataFolder }, path] = await Promise.all([
    import('./data-folder.ts'),
    import('node:path'),
  ]);
  return { kind: 'sqlite', file: path.join(dataFolder(environment), `${name}.db`), durability };
}

/**
 * Returns the path of a SQLite file, with or without the prefix `sqlite:`. Returns undefined for a word such as
 * `paper`, which is probably a mistake.
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
  const { secretKeyOptions } = await import('./secret-keys.ts');
  if (place.kind === 'postgres') {
    // A key file would be on this machine only, and other machines could not read the webhooks.
    const { secretKeyFile: _, ...keys } = secretKeyOptions(environment);
    try {
      return await postgresStore(place.url, { ...keys, logger: log });
    } catch (error) {
      throw error instanceof StoreError ? storeFailure(error) : error;
    }
  }
  const { file, durability } = place;
  try {
    return sqliteStore(file, { durability, ...secretKeyOptions(environment), logger: log });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.code !== 'busy') throw storeProblem(error);
    // Only one process may use a store.
    throw usageError(`${error.message}: stop that process, or ${OTHER_STORE}`, { cause: error });
  }
}

/** Returns whether `openStore` failed because another process uses the store. */
export function isStoreInUse(error: unknown): boolean {
  const cause = error instanceof ExitError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'busy';
}

/** Returns the error for a store that cannot be used, in one line with its hint. */
export function storeFailure(error: StoreError): ExitError {
  const hint = error.hint === undefined ? '' : `: ${error.hint}`;
  return usageError(`${error.message}${hint}`, { cause: error });
}

/** Like `storeFailure`, with the advice to use another store. For a file, not for a database that nodes share. */
export function storeProblem(error: StoreError): ExitError {
  const hint = error.hint === undefined ? '' : ` (${error.hint})`;
  return usageError(`${error.message}${hint}: ${OTHER_STORE}`, { cause: error });
}
