export {
  isPostgresUrl,
  openPostgres,
  statements,
  type PoolStats,
  type Postgres,
  type PostgresOptions,
  type PostgresSession,
} from './open-postgres.ts';
export { acrossLostConnections, type LostConnectionOptions } from './lost-connection.ts';
export { isDuplicate } from './postgres-error.ts';
export { schemaVersions, type Executor, type PostgresSchema } from './schema.ts';
export { fromPostgresRow, fromPostgresText, toPostgresText } from './text.ts';
export { StoreError } from '../store-error.ts';
