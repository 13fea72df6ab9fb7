/**
 * A store for tasks in a SQLite file.
 *
 *   serve(agent, { store: sqliteStore('tasks.db') });
 */
export {
  StoreError,
  sqliteStore,
  type SecretKeyOptions,
  type SqliteStore,
  type SqliteStoreOptions,
  type StoreErrorCode,
} from './store/index.ts';
