/**
 * Durable stores of the agent framework. This is a separate entry point, so that SQLite is loaded only when it is used.
 */
export { sqliteArtifacts } from '../artifacts/sqlite.ts';
export type { SqliteOptions } from '../sessions/database.ts';
export { sqliteSessions, type SqliteSessionsOptions } from '../sessions/sqlite.ts';
export { StorageError, type StorageErrorCode } from '../storage-error.ts';
