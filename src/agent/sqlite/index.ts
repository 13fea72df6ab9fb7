/**
 * Stores of the agent framework in a SQLite file. They are not part of `agent/index.ts`, so that programs that do not
 * use SQLite do not load it.
 */
export { sqliteArtifacts } from '../artifacts/sqlite.ts';
export type { SqliteOptions } from '../sessions/database.ts';
export { sqliteSessions, type SqliteSessionsOptions } from '../sessions/sqlite.ts';
export { StorageError, type StorageErrorCode } from '../storage-error.ts';
