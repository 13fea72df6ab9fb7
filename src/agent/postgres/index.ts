/**
 * Stores of the agent framework in PostgreSQL, which several processes can share. They are not part of
 * `agent/index.ts`, so that programs that do not use PostgreSQL do not load them.
 */
export { postgresArtifacts } from '../artifacts/postgres.ts';
export { SESSIONS, type PostgresAgentOptions } from '../sessions/postgres-database.ts';
export { importSessions } from '../sessions/import-sqlite.ts';
export { postgresSessions, type PostgresSessionsOptions } from '../sessions/postgres.ts';
export { StorageError, type StorageErrorCode } from '../storage-error.ts';
