/**
 * Stores of the agent framework that several processes share. This is a separate entry point, so that the driver of
 * PostgreSQL is loaded only when it is used.
 */
export { postgresArtifacts } from '../artifacts/postgres.ts';
export { SESSIONS, type PostgresAgentOptions } from '../sessions/postgres-database.ts';
export { importSessions } from '../sessions/import-sqlite.ts';
export { postgresSessions, type PostgresSessionsOptions } from '../sessions/postgres.ts';
export { StorageError, type StorageErrorCode } from '../storage-error.ts';
