/**
 * Stores for sessions and artifacts in PostgreSQL.
 *
 *   createRunner({ agent, sessions: await postgresSessions(url), artifacts: await postgresArtifacts(url) });
 */
export {
  postgresArtifacts,
  postgresSessions,
  StorageError,
  type PostgresAgentOptions,
  type PostgresSessionsOptions,
  type StorageErrorCode,
} from './agent/postgres/index.ts';
