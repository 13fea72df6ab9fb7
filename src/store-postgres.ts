/**
 * A store for tasks in PostgreSQL, which several servers can share.
 *
 *   serve(agent, { store: await postgresStore('postgres://parley@localhost/parley') });
 */
export {
  StoreError,
  postgresStore,
  type ClusterOptions,
  type ClusterStats,
  type PoolStats,
  type PostgresCluster,
  type PostgresStore,
  type PostgresStoreOptions,
  type SecretKeyOptions,
  type StoreErrorCode,
} from './store/index.ts';
