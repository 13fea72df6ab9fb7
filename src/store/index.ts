export { StoreError, type StoreErrorCode } from '../base/index.ts';
export type { PoolStats } from '../base/postgres/index.ts';
export { SecretBox, secretKeys, type SecretKeyOptions } from './secrets.ts';
export { sqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite.ts';
export { inspectStore, storedDeadLetters } from './inspect-store.ts';
export {
  postgresStore,
  PostgresStore,
  type PostgresStoreOptions,
} from './postgres/postgres-store.ts';
export { NodeDatabase, type ClusterOptions } from './postgres/node-database.ts';
export type { ClusterStats, PostgresCluster } from './postgres/postgres-cluster.ts';
export { isAlive } from './postgres/cluster-statements.ts';
export { importSqlite } from './postgres/import-sqlite.ts';
export { CLUSTER } from './postgres/cluster-schema.ts';
export { TASKS } from './postgres/migrations.ts';
export { STORE_METRICS, watchStore } from './postgres/store-metrics.ts';
export { inspectPostgres, postgresDeadLetters } from './postgres/inspect-postgres.ts';
