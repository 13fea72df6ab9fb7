/** Stores of the agent framework that outlive the process. Apart from the rest so that SQLite is loaded only for them. */
export { sqliteArtifacts } from '../artifacts/sqlite.ts';
export type { SqliteOptions } from '../sessions/database.ts';
export { sqliteSessions, type SqliteSessionsOptions } from '../sessions/sqlite.ts';
export { StorageError, type StorageErrorCode } from '../storage-error.ts';
